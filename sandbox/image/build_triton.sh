#!/bin/sh
# Unpacks Triton's wheel into /opt/amdkernel/triton, without the parts for other GPUs and for profiling them; and FlyDSL's
# into /opt/amdkernel/flydsl, without what links it into programs. Where the base image has another Python than FlyDSL's
# wheel, it stays away.
set -eu
cd /opt/amdkernel
python3 - <<'END'
import glob
import zipfile

[wheel] = glob.glob("wheels/triton-*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        if not name.startswith(("triton/backends/nvidia/", "triton/profiler/", "triton/_C/libproton")):
            archive.extract(name, "triton")
[wheel] = glob.glob("wheels/flydsl-*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        if not name.endswith((".a", ".pyi")):
            archive.extract(name, "flydsl")
[points] = glob.glob("triton/triton-*.dist-info/entry_points.txt")
kept = [line for line in open(points) if "nvidia" not in line]
open(points, "w").writelines(kept)
END
rm -r wheels triton.txt flydsl.txt build.sh
chmod -R a+rX triton flydsl
PYTHONPATH=triton TRITON_DEFAULT_FP_FUSION=1 python3 -c 'import triton; print("Triton", triton.__version__)'
PYTHONPATH=flydsl python3 -c 'import flydsl._mlir.ir; print("FlyDSL", flydsl.__version__)' || rm -r flydsl
