#!/usr/bin/env bash
# Makes sure that a Docker daemon answers and that the root file system of the sandbox can be built.
# Installs packages only as root; other users get the command to type.
set -euo pipefail

need=()
docker_answers() { [ -n "${DOCKER_HOST:-}" ] || { [ -S /var/run/docker.sock ] && curl_socket; }; }
curl_socket() {
    python3 - <<'PY' 2>/dev/null
import socket
s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect("/var/run/docker.sock")
s.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
raise SystemExit(b"200" not in s.recv(64))
PY
}

command -v dockerd >/dev/null || docker_answers || need+=(docker.io)
command -v mmdebstrap >/dev/null || command -v debootstrap >/dev/null || need+=(mmdebstrap)
[ "$(id -u)" = 0 ] || command -v newuidmap >/dev/null || need+=(uidmap)
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || need+=(debian-archive-keyring)

if [ ${#need[@]} -gt 0 ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "Please install: sudo apt-get install ${need[*]}" >&2
        exit 0 # `amdkernel setup` reports what fails without them
    fi
    echo "Installing ${need[*]} ..."
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    apt-get install -y -qq --no-install-recommends "${need[@]}" iptables >/dev/null
fi

docker_answers && exit 0
if [ "$(id -u)" != 0 ]; then
    echo "No Docker daemon answers. Start it: sudo systemctl start docker" >&2
    exit 0
fi
echo "Starting the Docker daemon ..."
if [ -d /run/systemd/system ]; then
    systemctl start docker && for _ in $(seq 60); do docker_answers && exit 0; sleep 0.5; done
fi
log="${TMPDIR:-/tmp}/amdkernel-dockerd.log"
for attempt in 1 2; do
    # A daemon that is stopping still holds its containerd, and a new one cannot start until it has ended.
    for _ in $(seq 60); do pgrep -x dockerd >/dev/null || break; sleep 0.5; docker_answers && exit 0; done
    rm -f /var/run/docker.pid
    setsid nohup dockerd >"$log" 2>&1 </dev/null &
    daemon=$!
    for _ in $(seq 60); do
        docker_answers && exit 0
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.5
    done
done
echo "The Docker daemon does not start; its log ends:" >&2
tail -n 5 "$log" >&2
exit 0
