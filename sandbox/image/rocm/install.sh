#!/bin/sh
# Installs one ROCm release from AMD's repository into an image of Ubuntu 24.04. Runs as root while the Dockerfile is
# built. ROCM is the release. ROOT is a folder in place of /, for tests.
set -eu
cd "$(dirname "$0")"
root=${ROOT:-}
recipe=rocm-$ROCM.txt
packages() {
    grep -hv -e '^#' -e '^$' -e '^key ' -e '^deb ' "$@"
}
fails() { # what setup shows, without the lines before it
    echo "amdkernel: $*" >&2
    exit 1
}
apt() {
    DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes --no-install-recommends -o Acquire::Languages=none \
        -o Acquire::Retries=3 "$@"
}
key=$(sed -n 's/^key //p' "$recipe")
repository=$(sed -n 's/^deb //p' "$recipe")
host=$(printf '%s\n' "$key" | cut -d/ -f3)
apt update && apt install ca-certificates curl || fails "the repositories of Ubuntu cannot be reached where Docker builds"
mkdir -p "$root/etc/apt/keyrings" "$root/etc/apt/sources.list.d" "$root/etc/apt/preferences.d" "$root/etc/ld.so.conf.d"
curl -fsSL --retry 3 --max-time 60 -o "$root/etc/apt/keyrings/rocm.asc" "$key" ||
    fails "AMD's packages cannot be fetched where Docker builds: $host does not answer"
echo "deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.asc] $repository" >"$root/etc/apt/sources.list.d/rocm.list"
# Ubuntu has packages of the same names, older ones.
printf 'Package: *\nPin: origin %s\nPin-Priority: 600\n' "$host" >"$root/etc/apt/preferences.d/rocm"
apt update || fails "AMD's repository cannot be read where Docker builds: $repository"
for list in "$root"/var/lib/apt/lists/*Release; do # /etc/amdkernel-suites: what doctor reports, the newest date of each
    case "$list" in
    *"$host"*) sed -n "s/^Date: */rocm-$ROCM /p" "$list" | head -n 1 ;;
    *dists_noble_*) sed -n "s/^Date: */noble /p" "$list" | head -n 1 ;;
    esac
done >"$root/etc/amdkernel-suites"
# shellcheck disable=SC2046 # one word for each package
apt install $(packages packages.txt "$recipe") || fails "ROCm $ROCM cannot be installed from $repository"
# From 10.0 on everything lies in core-N; a package that is not installed here makes the links that programs know.
if [ -d "$root/opt/rocm/core-$ROCM" ]; then
    for name in bin lib include llvm share libexec amdgcn; do
        [ -e "$root/opt/rocm/$name" ] || [ ! -e "$root/opt/rocm/core-$ROCM/$name" ] ||
            ln -s "core-$ROCM/$name" "$root/opt/rocm/$name"
    done
    [ -e "$root/opt/rocm/llvm" ] || ln -s lib/llvm "$root/opt/rocm/llvm"
fi
echo /opt/rocm/lib >"$root/etc/ld.so.conf.d/amdkernel-rocm.conf"
ldconfig
apt clean
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/usr/share/doc "$root"/usr/share/man
