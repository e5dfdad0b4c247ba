"""Recordings made to do harm are refused with a clear error within bounds, or read as they are."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.import_recording import import_recording
from amdkernel_mcp.profiling.readers import untrusted_sqlite
from amdkernel_mcp.profiling.readers.read import read_recording
from amdkernel_mcp.profiling.readers.recording import visible
from tests.profiling.test_reading_recordings import HEADER, START, document

COLUMNS = (
    "guid, dispatch_id, name, start, end, grid_x, grid_y, grid_z, workgroup_x, workgroup_y, workgroup_z, lds_size, "
    "scratch_size, vgpr_count, accum_vgpr_count, sgpr_count"
)
ROW = f"'g', {{number}}, {{name}}, {START}, {START + 900}, 64, 1, 1, 64, 1, 1, 0, 0, 8, 0, 16"


def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as opened:
        for statement in statements:
            opened.execute(statement)
        opened.commit()
    return path


def kernels(path: Path, name: str = "'k'") -> Path:
    insert = f"INSERT INTO kernels VALUES ({ROW.format(number=1, name=name)})"
    return database(path, f"CREATE TABLE kernels ({COLUMNS})", insert)


def refusal(path: Path) -> str:
    with pytest.raises(ProfileFileError) as refused:
        read_recording(path)
    assert refused.value.file == str(path)
    assert refused.value.message.isprintable()
    return refused.value.message


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
TEN = "(SELECT 0 AS i UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4)"


def crossed(times: int) -> str:
    return ", ".join(f"{TEN} AS t{number}" for number in range(times))


@pytest.mark.parametrize(
    ("view", "why"),
    [
        (f"{NUMBERS} SELECT {ROW.format(number='i', name=chr(39) + 'k' + chr(39))} FROM n", "recursive"),
        (f"SELECT {ROW.format(number='count(*)', name=chr(39) + 'k' + chr(39))} FROM {crossed(14)}", "more work"),
        (f"SELECT {ROW.format(number='t0.i', name=chr(39) + 'k' + chr(39))} FROM {crossed(8)}", "more rows"),
        (f"SELECT {ROW.format(number='t0.i', name='t0.i || t1.i || t2.i || hex(zeroblob(100000))')} FROM {crossed(4)}",
         "more text"),
        (f"SELECT {ROW.format(number=1, name='hex(zeroblob(2000000000))')}", "too big"),
        (f"SELECT {ROW.format(number=1, name='load_extension(' + chr(39) + 'x' + chr(39) + ')')}", "load_extension"),
    ],
    ids=["recursion", "join", "rows", "text", "one text", "extension"],
)  # fmt: skip
def test_a_view_that_would_not_end_is_refused(tmp_path: Path, view: str, why: str) -> None:
    path = database(tmp_path / "results.db", f"CREATE VIEW kernels({COLUMNS}) AS {view}", "CREATE TABLE more (x)")
    assert why in refusal(path)


def test_a_view_that_sorts_what_it_makes_up_is_refused_before_memory_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrusted_sqlite, "MEMORY_BYTES", 100_000_000)
    text = "t0.i || t1.i || t2.i || t3.i || hex(zeroblob(50000))"
    view = f"SELECT {ROW.format(number='t0.i', name=text)} FROM {crossed(8)} ORDER BY 3"
    path = database(tmp_path / "results.db", f"CREATE VIEW kernels({COLUMNS}) AS {view}")
    assert "more memory" in refusal(path)


def test_a_view_whose_steps_are_slow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted_sqlite, "CPU_S", 0.2)
    view = f"SELECT {ROW.format(number='sum(length(hex(zeroblob(100000 + t0.i))))', name=1)} FROM {crossed(8)}"
    path = database(tmp_path / "results.db", f"CREATE VIEW kernels({COLUMNS}) AS {view}")
    assert "more work" in refusal(path)


def test_a_virtual_table_is_refused(tmp_path: Path) -> None:
    path = kernels(tmp_path / "results.db")
    database(path, "CREATE VIRTUAL TABLE other USING fts5(x)")
    assert "a virtual table, other" in refusal(path)


def test_an_honest_view_over_joined_tables_is_read(tmp_path: Path) -> None:
    path = database(
        tmp_path / "results.db",
        "CREATE TABLE strings (id INTEGER PRIMARY KEY, text)",
        "INSERT INTO strings VALUES (1, 'first'), (2, 'second')",
        "CREATE TABLE dispatch (id INTEGER PRIMARY KEY, name_id)",
        *(f"INSERT INTO dispatch VALUES ({number}, {1 + number % 2})" for number in range(500)),
        f"CREATE VIEW kernels({COLUMNS}) AS SELECT {ROW.format(number='d.id', name='s.text')} "
        "FROM dispatch d JOIN strings s ON s.id = d.name_id",
    )
    names = [dispatch.kernel for dispatch in read_recording(path).dispatches]
    assert (len(names), set(names)) == (500, {"first", "second"})


@pytest.mark.parametrize("cell", ["'9' || hex(zeroblob(3000))", "1e300", "x'00ff'", "NULL", "'later'", "-1"])
def test_a_time_that_is_not_a_time_is_refused_or_not_measured(tmp_path: Path, cell: str) -> None:
    path = kernels(tmp_path / "results.db")
    database(path, f"UPDATE kernels SET end = {cell}")
    if cell == "NULL":
        assert read_recording(path).dispatches[0].duration_ns is None
    else:
        assert "cannot read the database" in refusal(path)


@pytest.mark.thorough
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 8191), to=st.integers(0, 255))
def test_a_database_with_a_flipped_byte_is_read_or_refused(tmp_path: Path, at: int, to: int) -> None:
    path = tmp_path / "results.db"
    path.unlink(missing_ok=True)
    data = bytearray(kernels(path).read_bytes())
    data[at % len(data)] = to
    path.write_bytes(data)
    try:
        answer = import_recording(path).model_dump_json()
    except ProfileFileError as refused:
        answer = refused.message
    assert answer


ESCAPE = "\x1b[31mred\x1b[0m \u202egnp.exe\r\x07"
SHOWN = r"\x1b[31mred\x1b[0m \u202egnp.exe\r\x07"


def test_control_characters_in_names_become_visible_and_other_names_stay() -> None:
    assert visible(ESCAPE) == SHOWN
    for name in ("void k<float, 3>(float*)", "_Z4gemmPf", "größe_kernel", "核", ""):
        assert visible(name) == name


def test_names_of_every_format_are_fit_to_print(tmp_path: Path) -> None:
    name = ESCAPE.replace("\r", "").replace("\x07", "") + "!"
    shown = visible(name)
    (tmp_path / "a.csv").write_text(
        f'{HEADER}\n1,1,"Agent 4",1,1,1,1024,7,"{name}",64,0,0,8,0,16,"SQ\x1b[1m",5,{START},{START + 9}\n', newline=""
    )
    (tmp_path / "b.csv").write_text(f'"Name","Calls","TotalDurationNs"\n"{name}",1,5\n', newline="")
    (tmp_path / "c.csv").write_text(
        f'KernelName,grd,SQ\x1b[1m,BeginNs,EndNs\n"{name}",1024,5,{START},{START + 9}\n', newline=""
    )
    symbol = {"kernel_id": 9, "formatted_kernel_name": name + "\ud800"}
    (tmp_path / "d.json").write_text(json.dumps({"rocprofiler-sdk-tool": [document(kernel_symbols=[symbol])]}))
    kernels(tmp_path / "e.db", f"'{name}'")
    for file in sorted(tmp_path.iterdir()):
        result = import_recording(file)
        assert result.kernels[0].name.startswith(shown), file
        assert "\x1b" not in result.model_dump_json() + repr(result), file


def test_numbers_without_end_and_deep_json_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for damage in ("[" * 100_000, '{"rocprofiler-sdk-tool": [' + "9" * 5000 + "]}", '{"a": 1e999}'):
        path.write_text(damage)
        assert "JSON" in refusal(path)
    symbol = {"kernel_id": 9, "formatted_kernel_name": "k", "arch_vgpr_count": 10**4000}
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [document(kernel_symbols=[symbol])]}))
    assert "64 bits" in refusal(path)
    text = json.dumps({"rocprofiler-sdk-tool": [document()]}).replace("10.0", "1e999")
    path.write_text(text)
    assert "not a finite number" in refusal(path)


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("SQ_WAVES", "9" * 5000, "not a number"),
        ("SQ_WAVES", "9" * 1_000_000, "not a number"),
        ("SQ_WAVES", "9" * 1_000_000 + "x", "not a number"),
        ("SQ_WAVES", "9" * 2_000_000, "field larger"),
        ("GRID", "1e300", "64 bits"),
        ("GRID", "9" * 300, "64 bits"),
    ],
)
def test_huge_fields_of_csv_are_refused(tmp_path: Path, column: str, value: str, why: str) -> None:
    grid, counter = (value, "5") if column == "GRID" else ("1024", value)
    path = tmp_path / "a.csv"
    path.write_text(f"{HEADER}\n1,1,a,1,1,1,{grid},7,k,64,0,0,8,0,16,SQ_WAVES,{counter},{START},{START + 9}\n")
    assert why in refusal(path)


def test_a_header_of_a_million_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Kernel_Name,grd" + ",a" * 1_000_000 + "\n")
    assert "1000002 columns" in refusal(path)
