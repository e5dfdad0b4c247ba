"""What compile, check, benchmark and profile return."""

from typing import Annotated, Literal

from pydantic import Field, WrapValidator

from amdkernel_mcp.results.compile_comparison import CompileComparison
from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.quantity import NOT_MEASURED, Evidence, Interval, Metric, Quantity, Result
from amdkernel_mcp.results.source_line import keep_file

CheckVerdict = Literal[
    "correct", "incorrect", "invalid", "crashed", "timeout", "deadlock", "not_emulated", "not_measured"
]


BenchmarkVerdict = Literal[
    "faster",
    "slower",
    "inconclusive",
    "invalid",
    "incorrect",
    "crashed",
    "timeout",
    "deadlock",
    "not_emulated",
    "not_measured",
]


FindingKind = Literal[
    "out_of_bounds",
    "race",
    "uninitialised_read",
    "input_modified",
    "launch_error",
    "lds_over_limit",
    "registers_over_limit",
    "non_deterministic",
    "nan_or_inf",
    "not_emulated",
    "timeout",
    "deadlock",
    "suspicious",
    "crashed",
    "wrong_result",
    "compile_error",
    "launch_plan",
    "misaligned",
    "not_written",
    "use_after_free",
    "missing_wait",
    "unread_input",
    "state_between_launches",
]


class Diagnostic(Result):
    """One message of the compiler; line and column are those of the user's file, from 1."""

    severity: Literal["error", "warning", "note", "remark"]
    message: str
    line: int | None = None
    column: int | None = None


class KernelResources(Result):
    """The resources of one kernel, read from the code object."""

    name: str
    vgpr: int = Field(description="Vector registers of the unified file, AGPRs included, as `.vgpr_count` says")
    agpr: int = Field(description="Of these, accumulation registers")
    sgpr: int
    lds_bytes: int
    scratch_bytes: int
    vgpr_spills: int
    sgpr_spills: int
    wavefront_size: int
    occupancy_waves_per_simd: int
    occupancy_limit: str = Field(description="What bounds the occupancy: `wave_slots`, `vgpr`, `sgpr` or `lds`")
    instructions: dict[str, int] = Field(description="Static instruction count by family")


class CompileResult(JobAnswer):
    """A code object or the reasons why there is none."""

    ok: bool = False
    arch: str = ""
    seconds: float = 0.0
    cached: bool = False
    code_object: str | None = None
    diagnostics: list[Diagnostic] = []
    kernels: list[KernelResources] = []
    toolchain: str | None = None
    headers: dict[str, str] = Field(default={}, description="SHA-256 of the header libraries")
    isa: str | None = Field(default=None, description="Disassembly with source lines, kernels first, if asked for")
    comparison: CompileComparison | None = None


class Worst(Result):
    """The element that misses the tolerance by most."""

    argument: str
    index: list[int]
    got: float | int | str | None
    expected: float | int | str | None


class CaseResult(Result):
    """The result of one case, over all seeds and repeats."""

    case: str
    held_out: bool
    drawn: bool = Field(default=False, description="Its sizes were drawn within the problem's `[ranges]`")
    verdict: CheckVerdict
    reason: str
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    violations: int | None = Field(default=None, description="Elements outside the tolerance, worst repeat")
    worst: Worst | None = None


class Finding(Result):
    """One mistake in a kernel, with its source line where it is known."""

    kind: FindingKind
    message: str
    line: Annotated[int | None, WrapValidator(keep_file)] = None
    called_from: list[int] = Field(default=[], description="Lines of the calls around `line`, innermost first")
    other_line: int | None = Field(
        default=None,
        description="Of a race: the other access. Of an uninitialised value or a missing wait: where it is used",
    )


class RanCode(Result):
    """Of the launched kernels' code, what ran in no case."""

    instructions_not_run: int = 0
    lines_not_run: list[list[int]] = Field(default=[], description="First, last")
    not_run: str = ""


class CheckScope(RanCode):
    """In how many cases the emulator checked what, and why not in others."""

    cases: int
    memory: int = Field(description="Bounds, alignment, uninitialised memory, inputs")
    races: int
    races_sampled: int = Field(default=0, description="Of these, in some workgroups")
    races_in_part: int = Field(default=0, description="Of these, in part of the memory")
    orders: int = Field(default=0, description="Other orders of waves and workgroups")
    instructions: int = 0
    not_exact: list[str] = Field(default=[], description="What ran with other bits than a GPU's, and why")
    note: str


class SeedReveal(Result):
    """What the inputs were drawn from: fixed before the run, revealed after it."""

    commitment: str = Field(description="SHA-256 of the key's bytes, reported before the run")
    key: str = Field(description="Hexadecimal; `amdkernel check --seed-key KEY` runs the same inputs and shapes again")
    count: int = Field(description="Inputs per case")
    replayed: bool = Field(default=False, description="The caller gave the key, so the inputs were known before")


class Hashes(Result):
    """`sha256:…` of what a verdict was reached with."""

    problem: str = Field(description="Of arguments, cases, tolerance and reference; not of title and description")
    candidate: str = Field(description="Of the kernel file")
    baseline: str | None = Field(default=None, description="Of the baseline's file, if there is one")


class CheckResult(JobAnswer):
    """Whether a kernel computes what its problem asks."""

    verdict: CheckVerdict | None = None
    reason: str = ""
    evidence: Evidence = "not_measured"
    cases: list[CaseResult] = []
    findings: list[Finding] = []
    notes: list[str] = Field(default=[], description="Observations that are not mistakes")
    seeds: SeedReveal | None = Field(default=None, description="Null where no kernel ran, or the seeds were given")
    hashes: Hashes | None = None
    coverage: CheckScope | None = Field(default=None, description="What was checked and what was not; null on a GPU")
    seconds: float = 0.0
    code_object: str | None = None
    diagnostics: list[Diagnostic] = []


class Clocks(Result):
    """What the driver said of a GPU's clocks at one moment; null where it did not."""

    sclk_mhz: float | None = Field(default=None, description="Of the compute units")
    mclk_mhz: float | None = Field(default=None, description="Of the memory")


class TimingConditions(Result):
    """How the times of a GPU were measured; a part that was not measured says so."""

    pairs: int = Field(description="Of samples, in turns")
    unit: Literal["us"] = "us"
    clock: str = Field(description="Of the times")
    launches_per_sample: list[int] = Field(description="Launches between two events, for each case")
    buffer_sets: list[int] = Field(description="Copies of all buffers, for each case")
    input_sets: list[int] = Field(default=[], description="For each case")
    footprint_bytes: list[int] = Field(description="Of one launch, for each case")
    cache_protocol: str = Field(description="Of the caches")
    settled_us: list[float] = Field(description="Work before the first sample")
    queue_filled: bool | None = Field(default=None, description="Before the first event of each sample")
    idle_before: str
    idle_after: str
    clocks_before: Clocks = Field(default=Clocks(), description="Before the first launch")
    clocks_after: Clocks = Field(default=Clocks(), description="Just after the last one")
    rocm: str
    driver: str
    gpu: str = Field(default="not_measured", description="Its unique id")
    samples_us: list[list[tuple[float, float]]] = Field(
        default=[],
        description="Candidate, baseline; in the record alone",
    )
    kernel_trace: str = Field(description="`agrees`, `disagrees` or `not_measured`")
    kernel_trace_note: str = ""
    kernel_trace_ratio: Interval = Field(default=Interval(), description="Event times / the trace's")
    gap_share: float | None = Field(default=None, description="Time without a launch")


class Span(Result):
    """Both ends of an interval."""

    low: float
    high: float


class BenchmarkResult(JobAnswer):
    """How fast a kernel is, against a baseline if one is named."""

    verdict: BenchmarkVerdict | None = None
    reason: str = ""
    case: str | None = None
    hashes: Hashes | None = None
    coverage: RanCode | None = None
    speedup: Interval = Interval()
    time_us: Quantity = NOT_MEASURED
    baseline_time_us: Quantity = NOT_MEASURED
    modelled_us: Span | None = Field(default=None, description="Around `time_us`, where that is modelled")
    baseline_modelled_us: Span | None = None
    noise_floor: float | None = Field(default=None, description="Between runs of identical code")
    flags: list[str] = []
    limits_us: dict[str, Quantity] = Field(default={}, description="Lower bounds of the time, by resource")
    timing: TimingConditions | None = Field(default=None, description="Of a GPU")
    code_object: str | None = Field(default=None, description="`sha256:…`")
    baseline_code_object: str | None = None
    counters: dict[str, Metric] = {}
    at_fault: str | None = Field(default=None, description="The baseline's file, if the lines are its own")
    diagnostics: list[Diagnostic] = []
    findings: list[Finding] = []


class LineMemory(Result):
    """Bytes that a source line requested (exact), and the traffic that a model estimates for it."""

    bytes_asked: int = Field(description="Requested by active lanes from any memory")
    lds_bytes: int = Field(default=0, description="Of these, from LDS")
    bytes_touched: int = Field(description="128 B for each cache line that each instruction touches")
    l1_hit: float | None = Field(default=None, description="Share of the cache lines of loads that hit, 0 to 1")
    l2_hit: float | None = Field(default=None, description="Share of the requests to the L2 that hit, 0 to 1")
    lds_cycles: int = 0
    lds_conflicts: int = Field(default=0, description="Of these, lost to bank conflicts and to atomics on one word")
    evidence: Evidence = "modelled"


class RecordedCost(Result):
    """What a thread trace (cycles) or PC samples of a GPU say about a line or an instruction, all waves together."""

    samples: int | None = None
    stalled: int | None = Field(default=None, description="Of the samples, of waves that could not issue")
    latency_cycles: int | None = Field(default=None, description="Stall and issue, of the traced waves")
    stall_cycles: int | None = None
    idle_cycles: int | None = Field(default=None, description="Gap before the instruction")
    reasons: dict[str, int] = Field(default={}, description="Stalled samples by AMD's reason")


class HotInstruction(Result):
    """An instruction and its share of the samples, or of the cycles of a thread trace."""

    instruction: str
    file: str | None = None
    line: int | None = None
    share: float = Field(description="0 to 1")
    executions: int | None = None
    recorded: RecordedCost


class HotLine(Result):
    """A source line and its share of what the kernel executed."""

    line: int
    source: str
    file: str | None = Field(default=None, description="Of a recording; null: the kernel's file")
    share: float = Field(description="0 to 1, of all wave-instructions; of samples or traced cycles if recorded")
    evidence: Evidence
    executions: int | None = Field(default=None, description="Wave-instructions")
    active_lanes: float | None = Field(default=None, description="Mean over the instructions")
    divergent: int | None = Field(default=None, description="Times that the active lanes of a wave diverged")
    memory: LineMemory | None = None
    recorded: RecordedCost | None = None


class SampledWorkgroups(Result):
    """Only some workgroups of the launches ran; the counters are scaled."""

    ran: int
    of: int
    errors: dict[str, float] = Field(
        default={}, description="Of a counter, half of its 95 % interval as a part of it; the others had no spread"
    )


class KernelProfile(Result):
    """The metrics of one kernel."""

    name: str
    dispatches: int
    metrics: dict[str, Metric]
    bound: str | None = Field(description="The resource that bounds the time; null where the data do not show it")
    modelled_us: Span | None = Field(
        default=None, description="Most launches take a time in it; the upper end has all that the roofline leaves out"
    )
    hot_lines: list[HotLine] = []
    hot_instructions: list[HotInstruction] = Field(default=[], description="Of thread traces and PC samples")
    sampled: SampledWorkgroups | None = Field(default=None, description="Null: every workgroup ran")


Focus = Literal["memory", "lds", "occupancy", "instructions", "launch"]


class Diagnosis(Result):
    """One finding about speed: what it is, the figures that show it, what to try, what would refute it."""

    finding: str
    because: str
    try_: str = Field(alias="try", serialization_alias="try")
    gain: Span | None = Field(
        default=None, description="Times as fast as it may be without what the finding names; modelled"
    )
    refuted_by: str = Field(default="", description="An observation after which the finding is not the cause")
    lines: list[int] = Field(default=[], description="Of the kernel file, the most important first")
    docs: list[str] = Field(default=[], description="Refs for read_doc")
    places: list[str] = Field(default=[], description="`file:line` where a recording shows it, most first")
    topic: Focus | None = None


class PastFinding(Result):
    """A finding of the kernel that this one is compared with, which this one has no more."""

    finding: str
    because: str


class FigureChange(Result):
    """A counter or metric of both kernels; `better`: this kernel's is the better one."""

    metric: str
    unit: str
    evidence: Evidence
    before: float
    after: float
    better: bool


class TimeChange(Result):
    """Of a kernel; null: of all."""

    # Of measured launches, all of them at the shortest and at the longest. `says`: what the two intervals allow to say.
    kernel: str | None = None
    before: Span | None = None
    after: Span | None = None
    evidence: Evidence
    says: str


class Comparison(Result):
    """Against another profile: times, findings, the figures that changed most."""

    compared_with: str
    times: list[TimeChange] = []
    gone: list[PastFinding] = []
    new: list[str] = []
    stayed: list[str] = []
    figures: list[FigureChange] = []


class ProfileResult(JobAnswer):
    """Counters, metrics and a diagnosis."""

    kernels: list[KernelProfile] = []
    diagnosis: list[Diagnosis] = []
    focus: Focus | None = Field(default=None, description="The diagnosis is about this alone")
    comparison: Comparison | None = None
    reason: str = ""
    case: str | None = None
    hashes: Hashes | None = None
    code_object: str | None = Field(default=None, description="`sha256:…` of the code object that ran")
    warnings: list[str] = []
    diagnostics: list[Diagnostic] = []
    findings: list[Finding] = []
