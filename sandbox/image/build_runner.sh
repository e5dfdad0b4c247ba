#!/bin/sh
# Builds the emulator; the runner and hip-python need nothing but their files. Runs as root, without network.
set -eu
umask 022
cd "${AMDKERNEL_HOME:-/opt/amdkernel}"
for clang in clang-21 /opt/rocm/llvm/bin/clang clang; do
    if command -v "$clang" >/dev/null; then break; fi
done
echo "building the emulator"
make -C emulator -j"$(nproc)" CC="$clang" all wide
for directory in emulator emulator/glibc-hwcaps/x86-64-v4; do
    for version in 6 7; do
        [ -e "$directory/libamdhip64.so.$version" ] || ln -s libamdhip64.so "$directory/libamdhip64.so.$version"
    done
    # Programs of HIP 7 want this one, and the image has that of HIP 6: our library exports hipRTC too, and hands it on.
    [ -e "$directory/libhiprtc.so.7" ] || ln -s libamdhip64.so "$directory/libhiprtc.so.7"
done
chmod -R a+rX . # pip's wheels keep what their authors had
