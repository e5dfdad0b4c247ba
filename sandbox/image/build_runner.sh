#!/bin/sh
# Builds the emulator; the runner and hip-python are only copied. Runs as root, without network.
set -eu
umask 022
cd "${AMDKERNEL_HOME:-/opt/amdkernel}"
for clang in clang-22 clang-21 /opt/rocm/llvm/bin/clang clang; do
    if command -v "$clang" >/dev/null; then break; fi
done
echo "building the emulator"
make -C emulator -j"$(nproc)" CC="$clang" all wide
for directory in emulator emulator/glibc-hwcaps/x86-64-v4; do
    [ -d "$directory" ] || continue # the second: on x86-64 alone
    for version in 6 7; do
        [ -e "$directory/libamdhip64.so.$version" ] || ln -s libamdhip64.so "$directory/libamdhip64.so.$version"
        # The image has hipRTC of one HIP release; programs built with the other find it through our library, which
        # exports hipRTC and forwards each call.
        ldconfig -p | grep -q "libhiprtc.so.$version " || [ -e "$directory/libhiprtc.so.$version" ] ||
            ln -s libamdhip64.so "$directory/libhiprtc.so.$version"
    done
done
chmod -R a+rX . # files of wheels have their authors' modes
