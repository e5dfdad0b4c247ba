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
if [ "$PWD" = /opt/amdkernel ]; then # in the image, not on a host
    # rocPRIM 7.2 uses memset without its header, which GCC's library before 16 happened to include.
    iterator=/usr/include/rocprim/iterator/texture_cache_iterator.hpp
    if [ -f "$iterator" ] && ! grep -q '<cstring>' "$iterator"; then
        sed -i '0,/^#include </s//#include <cstring>\n&/' "$iterator"
    fi
    # Nothing setuid: no_new_privileges is the first lock, this is the second.
    find / -xdev -type f -perm /6000 -exec chmod ug-s {} +
fi
chmod -R a+rX .
