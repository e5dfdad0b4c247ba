#!/bin/sh
# Makes the precompiled headers and the list of Debian packages. Runs as root in a container of the base image,
# without network.
set -eu
umask 022
cd "${AMDKERNEL_HOME:-/opt/amdkernel}"
sh check.sh > toolchain
if command -v dpkg-query >/dev/null; then
    dpkg-query --show --showformat '${Package} ${Version} ${Architecture}\n' | LC_ALL=C sort > packages
fi
for script in compile/make_*.sh; do
    [ -f "$script" ] || continue
    echo "running $(basename "$script")"
    sh "$script" "$PWD/compile"
done
if [ "$PWD" = /opt/amdkernel ]; then # in the image: nothing setuid; no_new_privileges is the first lock, this the second
    find / -xdev -type f -perm /6000 -exec chmod ug-s {} +
fi
chmod -R a+rX .
