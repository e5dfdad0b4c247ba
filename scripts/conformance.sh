#!/usr/bin/env bash
# The MCP conformance suite against `amdkernel serve`; tests/conformance/expected.yml lists what may fail, and why.
# The suite needs Node 22 or newer: it comes from npm, with the suite, into a cache folder.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=@modelcontextprotocol/conformance@0.2.0-alpha.12
bin=${VENV:-.venv}/bin
cache=${XDG_CACHE_HOME:-$HOME/.cache}/amdkernel-dev/conformance-0.2.0-alpha.12
command -v npm > /dev/null || { echo "npm is missing: sudo apt-get install npm" >&2; exit 3; }
if [ ! -e "$cache/installed" ]; then
    echo "Installing the conformance suite into $cache ..." >&2
    mkdir -p "$cache"
    npm install --prefix "$cache" --no-fund --no-audit --silent "$suite" node@24
    touch "$cache/installed"
fi
out=$(mktemp -d)
port=$("$bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
AMDKERNEL_CONFIG=/dev/null "$bin/amdkernel" serve --port "$port" 2> "$out/server.log" &
server=$!
trap 'kill $server 2> /dev/null; wait $server 2> /dev/null || true; rm -rf "$out"' EXIT
for _ in $(seq 150); do
    "$bin/python" -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2> /dev/null && break
    kill -0 "$server" 2> /dev/null || { cat "$out/server.log" >&2; exit 1; }
    sleep 0.2
done
PATH="$cache/node_modules/.bin:$PATH" conformance server --url "http://127.0.0.1:$port/mcp" --suite all \
    --expected-failures tests/conformance/expected.yml -o "$out/results" > "$out/report" 2>&1 && code=0 || code=$?
if [ $code -eq 0 ]; then tail -n 12 "$out/report"; else cat "$out/report"; fi
exit $code
