#!/bin/sh
# Builds the emulator; the runner and hip-python need nothing but their files. Runs as root, without network.
set -eu
umask 022
cd "${AMDKERNEL_HOME:-/opt/amdkernel}"
for clang in clang-21 /opt/rocm/llvm/bin/clang clang; do
    if command -v "$clang" >/dev/null; then break; fi
done
echo "building the emulator"
make -C emulator -j"$(nproc)" CC="$clang"
for version in 6 7; do
    [ -e "emulator/libamdhip64.so.$version" ] || ln -s libamdhip64.so "emulator/libamdhip64.so.$version"
done
# Programs of HIP 7 want this one, and the image has that of HIP 6: our library exports hipRTC too, and hands it on.
[ -e emulator/libhiprtc.so.7 ] || ln -s libamdhip64.so emulator/libhiprtc.so.7
chmod -R a+rX . # pip's wheels keep what their authors had
