#!/bin/sh
# Builds the PID 1 of containers. Static, so that it starts at once and in the image with PyTorch as well; a base
# without libc.a gets it dynamic. Runs as root, without network.
set -eu
umask 022
cd /opt/amdkernel
for clang in clang-22 clang-21 /opt/rocm/llvm/bin/clang clang; do
    if command -v "$clang" >/dev/null; then break; fi
done
echo "building PID 1"
build="$clang -std=c11 -O2 -Wall -Wextra -Werror -s init.c -o init"
$build -static 2>/dev/null || $build
