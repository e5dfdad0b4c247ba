#!/bin/sh
# Unpacks Triton's wheel into /opt/amdkernel/triton, without the parts for other GPUs and for profiling them.
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
[points] = glob.glob("triton/triton-*.dist-info/entry_points.txt")
kept = [line for line in open(points) if "nvidia" not in line]
open(points, "w").writelines(kept)
END
rm -r wheels triton.txt build.sh
chmod -R a+rX triton
PYTHONPATH=triton TRITON_DEFAULT_FP_FUSION=1 python3 -c 'import triton; print("Triton", triton.__version__)'
