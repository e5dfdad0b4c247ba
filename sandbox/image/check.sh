#!/bin/sh
# Prints one line that names the toolchain, or prints what a sandbox lacks and exits 1.
# The Debian image lacks nothing; an image that a user names, or a host without containers, may.
set -eu
lacks() {
    echo "$*" >&2
    exit 1
}
for tool in tar head sed find timeout make; do
    command -v $tool >/dev/null || lacks "it has no $tool"
done
for hipcc in "${ROCM_PATH:-/nowhere}/bin/hipcc" /opt/rocm/bin/hipcc /opt/rocm-*/bin/hipcc /opt/rocm/core*/bin/hipcc "$(command -v hipcc || true)"; do
    [ -x "$hipcc" ] && break
done
[ -x "$hipcc" ] || lacks "it has no hipcc: not in \$ROCM_PATH, not in /opt/rocm*, not on PATH"
version=$("$hipcc" --version 2>&1) || lacks "its hipcc does not start: $version"
clang=$(printf '%s\n' "$version" | sed -n 's/.*clang version \([0-9][0-9.]*\).*/\1/p')
[ "${clang%%.*}" -ge 18 ] 2>/dev/null || lacks "its compiler is clang ${clang:-of unknown version}, and 18 or newer is needed"
# The wheels that an image gets are for 3.12 and later ones; on a host they are those of its own Python.
oldest=3.12
[ "$PWD" = /opt/amdkernel ] || oldest=3.10
numpy=$(python3 -c "import sys, numpy; assert sys.version_info >= (${oldest%.*}, ${oldest#*.}), sys.version
print(numpy.__version__)" 2>&1) || lacks "it has no python3 >= $oldest with NumPy: $(printf '%s\n' "$numpy" | tail -n 1)"
python=$(python3 -c 'import platform; print(platform.python_version())')
hip=$(printf '%s\n' "$version" | sed -n 's/^HIP version: *//p')
echo "hipcc of HIP ${hip:-?}, clang $clang, Python $python, NumPy $numpy"
