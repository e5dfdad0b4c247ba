"""A pod without Docker and with 8 GPUs, through the whole product: we are installed in it, and jobs are subprocesses.

What needs no kernel is in test_pod_without_docker.py.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from gpu_host_box import GpuHost
from gpu_host_sources import WHICH_GPU
from pod import AMDKERNEL, Pod, python_and_ours, start_pod
from trees import HERE, served, tree_of

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(1800)]

KERNELS = Path(__file__).parents[2] / "examples/vector_add/kernels"
NAIVE, TAIL = str(KERNELS / "naive.hip"), str(KERNELS / "broken_tail.hip")
TREE = tree_of(HERE / "pod_8_gpus.toml")
FIRST_CASE = ("--case", "n=4096")


@pytest.fixture(scope="module")
def pod(gpu_host: GpuHost) -> Iterator[Pod]:
    """A pod that was set up as its user would do it."""
    with served(gpu_host, replace(TREE, daemon="")):  # the box has one, and the pod none
        pod = start_pod(gpu_host, python_and_ours(), TREE.minors)
        try:
            pod.inside(str(AMDKERNEL), "setup")
            yield pod
        finally:
            pod.stop()


def test_a_pod_lists_checks_benchmarks_and_profiles_on_the_gpu_that_was_asked_for(pod: Pod) -> None:
    listed = {one["name"]: one for one in pod.answer("targets")["targets"] if one["kind"] == "gpu"}
    assert list(listed) == [f"local:{n}" for n in range(8)]
    assert all(one["ready"] for one in listed.values()), listed
    on_third = ("--target", TREE.expected["target"])
    assert listed[on_third[1]]["gpu"] == TREE.expected["name"]
    right = pod.answer("check", "vector_add", NAIVE, *on_third)
    assert (right["verdict"], right["isolation"]) == ("correct", "none"), right
    assert pod.answer("check", "vector_add", TAIL, *on_third)["verdict"] == "incorrect"
    timed = pod.answer("benchmark", "vector_add", NAIVE, *on_third, *FIRST_CASE)
    assert (timed["verdict"], timed["time_us"]["evidence"]) == ("inconclusive", "measured"), timed
    assert (timed["timing"]["kernel_trace"], timed["timing"]["queue_filled"]) == ("agrees", True), timed["timing"]
    [profiled] = pod.answer("profile", "vector_add", NAIVE, *on_third, *FIRST_CASE)["kernels"]
    assert sum(metric["evidence"] == "measured" for metric in profiled["metrics"].values()) >= 25, profiled


def test_a_gpu_of_the_pod_that_others_use_is_not_timed(pod: Pod) -> None:
    timed = pod.answer("benchmark", "vector_add", NAIVE, "--target", "local:5", *FIRST_CASE)
    assert (timed["verdict"], timed["flags"]) == ("not_measured", ["not_idle"]), timed
    assert "other processes use the GPU: 4711" in timed["reason"]


def test_a_program_sees_the_gpu_of_its_target_alone_and_as_the_first(pod: Pod) -> None:
    pod.write("/root/which.hip", WHICH_GPU)
    said = {n: pod.amdkernel("run", "/root/which.hip", "--target", f"local:{n}", "--hang") for n in (0, 7)}
    assert said == {0: "1 device, bus 1\n", 7: "1 device, bus 8\n"}, "the emulated GPUs are on the buses 1 to 8"


def test_a_bringup_of_a_pod_says_what_it_does_without_docker(pod: Pod) -> None:
    pod.is_clocked(10)  # near to the clock of the host
    answer = pod.answer("bringup", TREE.expected["target"], "--watch", "0", "--to", "/root")
    found = {probe["id"]: (probe["status"], probe["found"]) for probe in answer["probes"]}
    failed = {name: probe for name, probe in found.items() if probe[0] == "fail"}
    assert not failed
    assert "isolation none" in found["docker"][1]
    assert found["topology"][1] == "GPUs by reader: host 8"
    assert set(answer["promises"].values()) == {"holds"}, found
