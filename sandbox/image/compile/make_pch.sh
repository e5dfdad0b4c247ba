#!/bin/sh
# make_pch.sh [FOLDER]: run once, as root, at the end of an image build. Makes what compile-kernel works with:
#
#   FOLDER/tools                    paths of clang, ld.lld, llvm-objdump and hipcc, as shell assignments
#   FOLDER/header.h                 the source of the precompiled headers; clang requires that it stays
#   FOLDER/words                    every identifier in the code of its headers, one a line: a macro of such a name, set
#                                   before the header is read, could change it
#   FOLDER/ARCH/VARIANT.pch         hip/hip_runtime.h precompiled at -O3; VARIANT is `default` or `fast-math`
#   FOLDER/ARCH/default-O2.pch      the same at -O2, where clang accepts a precompiled header at its own level only
#   FOLDER/ARCH/VARIANT-LEVEL.cc1   arguments of `clang -cc1` as hipcc gives them; LEVEL is O1, O2 or O3
#   FOLDER/ARCH/link                arguments of ld.lld, likewise
#
# The header is precompiled with its pending templates instantiated: otherwise each compile instantiates 109 functions
# of libstdc++ again, 0.2 s of the 0.4 s that clang then takes (measured, clang 21).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prepared=${1:-/opt/amdkernel/compile}
. "$here/find-tools"
find_tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$prepared"
cd "$work"
echo '#include <hip/hip_runtime.h>' > "$prepared/header.h"
: > kernel.hip

# One argument a line in double quotes, as clang -### prints them and as @file reads them.
command_line() { # FLAG... -> the lines of -### for a device compile of kernel.hip
    "$hipcc" --offload-device-only --no-gpu-bundle-output -gline-tables-only -fuse-cuid=none \
        -fdebug-compilation-dir=. -fcoverage-compilation-dir=. "$@" -### -o kernel.co kernel.hip 2>&1
}

precompile() { # ARCH VARIANT LEVEL NAME
    grep -vx '"-emit-obj"' "$prepared/$1/$2-$3.cc1" > "$1/precompile"
    "$clang" -cc1 "@$1/precompile" -emit-pch -fpch-instantiate-templates -fno-pch-timestamp \
        -sys-header-deps -dependency-file "$1/headers" -MT headers \
        -include __clang_hip_runtime_wrapper.h -main-file-name header.h -o "$prepared/$1/$4.pch" -x hip "$prepared/header.h"
}

make_arch() { # ARCH
    mkdir -p "$prepared/$1" "$1"
    for variant in default fast-math; do
        flag=
        [ $variant = fast-math ] && flag=-ffast-math
        for level in O1 O2 O3; do
            # Left out: what differs from job to job (input, output), and what is in the precompiled header.
            # shellcheck disable=SC2086
            command_line "--offload-arch=$1" -$level $flag | grep '"-cc1"' | sed \
                -e 's/^ *"[^"]*" "-cc1" //' -e 's/ "-o" "[^"]*"//' -e 's/ "-x" "hip" "kernel.hip"//' \
                -e 's/ "-dumpdir" "[^"]*"//' -e 's/ "-main-file-name" "[^"]*"//' -e 's/ "-ferror-limit" "[^"]*"//' \
                -e 's/ "-include" "__clang_hip_runtime_wrapper.h"//' -e 's/" "/"\n"/g' > "$prepared/$1/$variant-$level.cc1"
        done
        precompile "$1" $variant O3 $variant
    done
    # clang 22 does so. Each header has 13 MB, so the rarer -O1, and -O2 with -ffast-math, go without.
    if ! "$clang" -cc1 "@$prepared/$1/default-O2.cc1" -include-pch "$prepared/$1/default.pch" -o "$1/kernel.o" \
        -x hip kernel.hip 2>/dev/null; then
        precompile "$1" default O2 default-O2
    fi
    command_line "--offload-arch=$1" -O3 | grep '"elf64_amdgpu"' | sed \
        -e 's/^ *"[^"]*" "-flavor" "gnu" //' -e 's/"-o" "[^"]*" "[^"]*"/"-o" "kernel.co" "kernel.o"/' \
        -e 's/" "/"\n"/g' > "$prepared/$1/link"
}

jobs=
for arch in gfx90a gfx942 gfx950 gfx1100 gfx1201; do
    make_arch $arch &
    jobs="$jobs $!"
done
for job in $jobs; do wait "$job"; done

cat ./*/headers | tr -s ' \\' '\n\n' | grep '^/' | sort -u |
    xargs sed -Ez 's:/\*([^*]|\*+[^*/])*\*+/: :g; s://[^\n]*::g' |
    LC_ALL=C grep -aoE '[A-Za-z_][A-Za-z0-9_]*' | LC_ALL=C sort -u > "$prepared/words"
[ -s "$prepared/words" ]
{
    for name in clang lld objdump hipcc toolchain; do
        eval "printf \"%s='%s'\n\" $name \"\$$name\""
    done
} > "$prepared/tools"
chmod -R a+rX "$prepared"
