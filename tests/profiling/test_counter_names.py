"""Names of counters by GPU: capitals are rocprofv3's there, lower case is ours."""

import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import pytest
import yaml

from amdkernel_mcp.measurement.counters import Dispatch
from amdkernel_mcp.profiling.metrics.counter_names import ARCHITECTURES, shown_name
from amdkernel_mcp.profiling.metrics.emulated import main_counters, raw_counters
from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS

DOCS = Path(__file__).parents[3] / "shared" / "data" / "rocm-docs.tar.zst"
TABLE = "rocm-docs/rocprofiler-sdk-tables/counter_defs.yaml"


@pytest.fixture(scope="module")
def rocprof() -> dict[str, set[str]]:
    """The counters that rocprofiler-sdk defines, by architecture."""
    if not DOCS.exists():
        pytest.skip("the documentation archive is not here")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "--zstd", "-xf", DOCS, "-C", folder, TABLE], check=True)
        table = yaml.load((Path(folder) / TABLE).read_text(encoding="utf-8"), yaml.CSafeLoader)
    known: dict[str, set[str]] = {gfx: set() for gfx in ARCHITECTURES}
    for counter in table["rocprofiler-sdk"]["counters"]:
        for definition in counter["definitions"]:
            for gfx in known.keys() & set(definition["architectures"]):
                known[gfx].add(counter["name"])
    return known


@pytest.mark.parametrize("gfx", ARCHITECTURES)
def test_each_name_in_capitals_is_one_that_rocprof_has_there(rocprof: dict[str, set[str]], gfx: str) -> None:
    shown = {shown_name(name, gfx) for name in COUNTERS} - {None}
    assert {name for name in shown if name[0].isupper()} <= rocprof[gfx]


@pytest.mark.parametrize("gfx", ARCHITECTURES)
def test_rocprofs_name_is_kept_where_it_has_one(rocprof: dict[str, set[str]], gfx: str) -> None:
    assert [name for name in COUNTERS if name in rocprof[gfx] and shown_name(name, gfx) != name] == []


@pytest.mark.parametrize("gfx", ARCHITECTURES)
def test_no_two_counters_share_a_name(gfx: str) -> None:
    shown = Counter(name for counter in COUNTERS if (name := shown_name(counter, gfx)))
    assert [name for name, times in shown.items() if times > 1] == []


@pytest.mark.parametrize(
    ("name", "gfx", "shown"),
    [
        ("SQ_INSTS_MFMA", "gfx1100", "wmma_instructions"),
        ("SQ_INSTS_MFMA", "gfx90a", "SQ_INSTS_MFMA"),
        ("SQ_INSTS_VALU_MFMA_MOPS_XF32", "gfx942", "mfma_mops_xf32"),
        ("SQ_LDS_BANK_CONFLICT", "gfx1201", "SQC_LDS_BANK_CONFLICT"),
        ("TCC_HIT_sum", "gfx1100", "GL2C_HIT_sum"),
        ("TCC_EA0_RDREQ_sum", "gfx90a", "TCC_EA_RDREQ_sum"),
        ("SQ_WAVES_LT_48", "gfx1100", None),
        ("bytes_loaded", "gfx1201", "bytes_loaded"),
    ],
)
def test_a_counter_is_called_as_on_the_gpu(name: str, gfx: str, shown: str | None) -> None:
    assert shown_name(name, gfx) == shown


def test_an_answer_for_rdna_has_no_name_of_cdna() -> None:
    counters = dict.fromkeys(COUNTERS, 1.0) | {"SQ_WAVE64_INSTS": 0.0}
    ran = [Dispatch("k", (1, 1, 1), (32, 1, 1), counters)]
    every, main = raw_counters(ran, "gfx1100"), main_counters(ran, "gfx1100")
    assert not any(part in name for name in every for part in ("MFMA", "TCC", "TCP", "_LT_", "SQ_WAVE64"))
    assert list(main)[:3] == ["SQ_WAVES", "SQ_WAVE32_INSTS", "SQ_INSTS_VALU"]
    assert {"wmma_instructions", "vector_loads", "SQC_LDS_BANK_CONFLICT"} <= set(main)
