"""Sentences for what the emulator's checks saw: uninitialised reads that a race causes, moved loads, other work."""

from amdkernel_mcp.findings.mistakes import explain_mistakes
from amdkernel_mcp.runner_protocol.records import DispatchFinding, DispatchRecord, RacePartner
from amdkernel_mcp.runner_protocol.report import CaseReport

LINES = {0x10: 5, 0x14: 5, 0x20: 9, 0x30: 12}


class Lines:
    def lines_of(self, address):
        return (LINES[address],) if address in LINES else ()

    lines_near = lines_of

    def is_opening(self, _address):
        return False


def seen(kind, pc, partner=None, use=()):
    return DispatchFinding(
        kind=kind, pc=pc, workgroup=(0, 0, 0), wave=1, lane=0, instruction="ds_read_b32 v0, v1", space="lds",
        address=64, bytes=4, store=False, count=1, partner=partner, use=list(use),
    )  # fmt: skip


def writer(pc=0x20, **rest):
    return RacePartner(pc=pc, workgroup=(0, 0, 0), wave=0, lane=0, access="store", atomic=False, **rest)


def explained(*found, other_lines=None, kernel="k"):
    record = DispatchRecord(
        kernel=kernel, grid=(1, 1, 1), block=(64, 1, 1), lds_bytes=256, seconds=0, counters={}, pcs=None, fault=None,
        findings=list(found),
    )  # fmt: skip
    report = CaseReport("ok", "", (), dispatches=(record,))
    return explain_mistakes(report, lines=Lines(), layouts={}, other_lines=other_lines)


def test_an_unset_value_that_a_race_let_through_points_to_the_race():
    race, unset = explained(seen("uninitialised_read", 0x10, use=[0x30]), seen("race", 0x10, writer()))
    assert (race.kind, race.line, race.other_line) == ("race", 5, 9)
    assert unset.kind == "uninitialised_read"
    assert unset.message.endswith(
        "lane 0: this read is part of the race above, and may only have come before the write"
    )


def test_how_often_counts_what_waves_executed_and_the_lanes_of_overruns_beside_it():
    one, more = (
        seen("out_of_bounds", 0x10).model_copy(
            update={"space": "global", "region": "`_ZN4deep5tableE`", "region_bytes": 12, "region_live": True,
                    "offset": 16, "count": count, "lanes": lanes, "off": off}
        )
        for count, lanes, off in ((1, 1, 0), (3, 70, 8))
    )  # fmt: skip
    assert "reads 4 bytes at byte 4 after `table` (12 bytes); k, workgroup" in explained(one)[0].message
    assert "lane 0: check the index" in explained(one)[0].message
    assert "lane 0; 3 times in all, by 70 lanes: check the index" in explained(more)[0].message
    near = more.model_copy(update={"region": "x", "off": 1, "count": 1})
    assert "lane 0; by 70 lanes, up to 1 byte beyond: check the index" in explained(near)[0].message


def test_an_unset_value_without_a_race_says_nothing_of_one():
    _race, unset = explained(seen("uninitialised_read", 0x30), seen("race", 0x10, writer()))
    assert "races" not in unset.message


def test_a_race_at_a_load_without_a_line_is_told_where_the_value_is_used():
    (race,) = explained(seen("race", 0x99, writer(), use=[0x30]))
    assert (race.line, race.other_line) == (12, 9)


def test_a_race_whose_value_is_used_elsewhere_names_that_line_too():
    (race,) = explained(seen("race", 0x10, writer(), use=[0x30]))
    assert race.line == 5
    assert "line 12 uses the value" in race.message


def test_other_work_is_named_with_its_line_in_its_own_code_object():
    (race,) = explained(seen("race", 0x10, writer(0x30, work="producer", object=2)), other_lines={2: Lines()})
    assert race.other_line == 12
    assert "which kernel producer in another stream writes in line 12" in race.message


def test_other_work_that_is_no_kernel_has_no_line():
    (race,) = explained(seen("race", 0x10, writer(0, work="copy")))
    assert race.other_line is None
    assert "which a copy in another stream writes, and both may run at the same time" in race.message


def test_kernels_are_named_as_the_source_names_them():
    producer = writer(0x30, work="_Z8producerPf", object=2)
    (race,) = explained(seen("race", 0x10, producer), kernel="_Z5scaleIfLi4EEvPT_", other_lines={2: Lines()})
    assert "; scale<float, 4>, workgroup" in race.message
    assert "which kernel producer in another stream" in race.message


def stored(pc, partner):
    return seen("race", pc, partner).model_copy(update={"store": True})


def test_a_line_whose_loads_and_stores_race_with_its_stores_is_a_counter_and_wants_an_atomic():
    load, store = seen("race", 0x10, writer(0x14)), stored(0x14, writer(0x14))
    (race,) = explained(load, store)
    assert "which wave 0 of the same workgroup writes in the same line" in race.message
    assert race.message.endswith("use one atomic such as atomicAdd, or let waves take turns with __syncthreads()")
    elsewhere = writer(0x14).model_copy(update={"workgroup": (1, 0, 0)})
    (race,) = explained(load.model_copy(update={"partner": elsewhere}), stored(0x14, elsewhere))
    assert race.message.endswith("use one atomic such as atomicAdd")


def test_a_line_that_reads_what_its_neighbour_writes_wants_a_barrier():
    (race,) = explained(seen("race", 0x10, writer(0x14)))
    assert race.message.endswith("put __syncthreads() between the two, or use an atomic")


def test_two_stores_of_one_line_want_one_writer_or_turns():
    (race,) = explained(stored(0x14, writer(0x14)))
    assert race.message.endswith("let one thread write it, use an atomic, or let waves take turns with __syncthreads()")


def test_a_register_that_was_never_set_is_named():
    unset = seen("uninitialised_read", 0x10, use=[0x30]).model_copy(update={"space": "register", "registers": "v100"})
    (finding,) = explained(unset)
    assert "reads v100, which the kernel has not set, and uses the value in line 12; k" in finding.message


def test_private_memory_is_named_as_such():
    (finding,) = explained(seen("uninitialised_read", 0x10).model_copy(update={"space": "scratch"}))
    assert "reads byte 64 of private memory, which was never written" in finding.message


def test_a_store_to_the_dispatch_packet_says_that_it_is_read_only():
    store = seen("input_modified", 0x10).model_copy(
        update={"space": "global", "store": True, "region": "the dispatch packet", "region_bytes": 128, "offset": 40}
    )
    assert "writes byte 40 of the dispatch packet, which is read-only" in explained(store)[0].message


def test_lds_that_its_own_wave_reads_too_early_wants_the_wait_in_between():
    early = seen("missing_wait", 0x10, use=[0x20]).model_copy(
        update={"instruction": "global_load_lds_dword v[0:1], off", "remedy": "s_waitcnt vmcnt(0)"}
    )
    (own,) = explained(early)
    assert "global_load_lds_dword has not filled LDS when its own wave reads it in line 9" in own.message
    assert own.message.endswith("put `s_waitcnt vmcnt(0)` in between")
    (other,) = explained(early.model_copy(update={"store": True}))
    assert other.message.endswith("put `s_waitcnt vmcnt(0)` before the barrier, or use __syncthreads()")
