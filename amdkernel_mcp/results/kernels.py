"""What the engine answers, one model per verb. The keys are a contract: never renamed, never dropped.

The same JSON goes to `--json`, to an MCP client's text and to its structured content.
"""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Evidence = Literal["measured", "emulated", "modelled", "static", "not_measured"]
Isolation = Literal["docker", "none"]
JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
CheckVerdict = Literal["correct", "incorrect", "invalid", "crashed", "timeout", "not_emulated", "not_measured"]
BenchmarkVerdict = Literal[
    "faster", "slower", "inconclusive", "invalid", "incorrect", "crashed", "timeout", "not_emulated", "not_measured"
]
FindingKind = Literal[
    "out_of_bounds",
    "race",
    "uninitialised_read",
    "input_modified",
    "launch_error",
    "lds_over_limit",
    "non_deterministic",
    "nan_or_inf",
    "not_emulated",
    "timeout",
    "suspicious",
    "crashed",
    "wrong_result",
    "compile_error",
    "launch_plan",
    "misaligned",
    "not_written",
    "use_after_free",
]


class Result(BaseModel):
    """Base of all answers: frozen, and no key that is not declared."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class Quantity(Result):
    """A number and where it came from; without evidence there is no number."""

    value: float | None
    evidence: Evidence

    @model_validator(mode="after")
    def _number_needs_evidence(self) -> Self:
        if (self.value is None) != (self.evidence == "not_measured"):
            raise ValueError("`value` must be null exactly when evidence is `not_measured`")
        return self


class Metric(Quantity):
    """A quantity with its unit, as one row of a profile."""

    unit: str
    note: str | None = Field(default=None, description="Why the number must be read with care")


NOT_MEASURED = Quantity(value=None, evidence="not_measured")


class Interval(Result):
    """An estimate with its 95 % interval; all three are null where nothing was measured or modelled."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Artefact(Result):
    """A file too long for an answer: where it is on the server's disk, and what it holds."""

    name: str
    path: str
    sha256: str
    bytes: int


class JobAnswer(Result):
    """Base of answers that may take longer than a caller waits."""

    status: JobStatus = Field(default="done", description="`running`: call get_job with job_id")
    job_id: str | None = None
    progress: str | None = Field(default=None, description="What is being done at the moment")
    isolation: Isolation | None = Field(default=None, description="`none`: the code ran without a container")
    target: str | None = None
    artefacts: list[Artefact] = []
    left_out: list[str] = Field(default=[], description="What did not fit; the artefact `whole answer` has it")


class Diagnostic(Result):
    """One message of the compiler; line and column are those of the user's file, from 1."""

    severity: Literal["error", "warning", "note", "remark"]
    message: str
    line: int | None = None
    column: int | None = None


class KernelResources(Result):
    """What one kernel of a code object takes, read off the code object."""

    name: str
    vgpr: int = Field(description="Vector registers of the unified file, AGPRs included, as `.vgpr_count` says")
    agpr: int = Field(description="Of these the accumulation registers")
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
    isa: str | None = Field(default=None, description="Disassembly with source lines, kernels first, if asked for")


class Worst(Result):
    """The element that misses the tolerance by most."""

    argument: str
    index: list[int]
    got: float | int | str | None
    expected: float | int | str | None


class CaseResult(Result):
    """How a kernel did on one case, over all seeds and repeats."""

    case: str
    held_out: bool
    verdict: CheckVerdict
    reason: str
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    violations: int | None = Field(default=None, description="Elements outside the tolerance, worst repeat")
    worst: Worst | None = None


class Finding(Result):
    """One thing that is wrong with a kernel, with the line of its source where it is known."""

    kind: FindingKind
    message: str
    line: int | None = None
    called_from: list[int] = Field(default=[], description="Lines of the calls that lead to `line`, outwards")
    other_line: int | None = Field(
        default=None, description="Of a race: the other access. Of an unset value: where it is used"
    )


class Coverage(Result):
    """What the checks of the emulator looked at, in cases. What was left out is told in `note`, with the reason."""

    cases: int
    memory: int = Field(description="In which every access was checked: bounds, alignment, unset memory, inputs")
    races: int = Field(description="In which races were looked for")
    races_in_part: int = Field(default=0, description="Of these, where too much memory was shared to follow all of it")
    orders: int = Field(default=0, description="Cases that ran in other orders of waves and workgroups as well")
    note: str


class CheckResult(JobAnswer):
    """Whether a kernel computes what its problem asks."""

    verdict: CheckVerdict | None = None
    reason: str = ""
    evidence: Evidence = "not_measured"
    cases: list[CaseResult] = []
    findings: list[Finding] = []
    notes: list[str] = Field(default=[], description="Worth knowing, and no mistake")
    coverage: Coverage | None = Field(default=None, description="What was checked and what was not; null on a GPU")
    seconds: float = 0.0
    code_object: str | None = None
    diagnostics: list[Diagnostic] = []


class BenchmarkResult(JobAnswer):
    """How fast a kernel is, against a baseline if one is named."""

    verdict: BenchmarkVerdict | None = None
    reason: str = ""
    speedup: Interval = Interval()
    time_us: Quantity = NOT_MEASURED
    baseline_time_us: Quantity = NOT_MEASURED
    noise_floor: float | None = Field(default=None, description="Relative; what identical code differs by")
    flags: list[str] = []
    limits_us: dict[str, Quantity] = Field(default={}, description="Lower bounds of the time, by resource")
    counters: dict[str, Metric] = {}
    diagnostics: list[Diagnostic] = []
    findings: list[Finding] = []


class LineMemory(Result):
    """What a source line asked of memory (exact), and what a model says was moved for it."""

    bytes_asked: int = Field(description="By active lanes, of any memory")
    lds_bytes: int = Field(default=0, description="Of these, of LDS")
    bytes_touched: int = Field(description="128 B for each cache line that each instruction touches")
    l1_hit: float | None = Field(default=None, description="Of the lines that loads touch, 0 to 1")
    l2_hit: float | None = Field(default=None, description="Of what went on to the L2, 0 to 1")
    lds_cycles: int = 0
    lds_conflicts: int = Field(default=0, description="Of these, lost to bank conflicts and atomics on one word")
    evidence: Evidence = "modelled"


class HotLine(Result):
    """A source line and its share of what the kernel executed."""

    line: int
    source: str
    share: float = Field(description="Of all wave-instructions, 0 to 1")
    evidence: Evidence
    executions: int | None = Field(default=None, description="Wave-instructions")
    active_lanes: float | None = Field(default=None, description="In a mean instruction")
    divergent: int | None = Field(default=None, description="Times that a wave's active lanes parted")
    memory: LineMemory | None = None


class KernelProfile(Result):
    """The metrics of one kernel."""

    name: str
    dispatches: int
    metrics: dict[str, Metric]
    bound: str | None = Field(description="The resource that bounds the time, or null where the data do not tell")
    hot_lines: list[HotLine] = []


class Diagnosis(Result):
    """One finding about speed: what, because of which figures, what to try, where to read."""

    finding: str
    because: str
    try_: str = Field(alias="try", serialization_alias="try")
    docs: list[str] = []


class ProfileResult(JobAnswer):
    """Counters, metrics and a diagnosis."""

    kernels: list[KernelProfile] = []
    diagnosis: list[Diagnosis] = []
    reason: str = ""
    warnings: list[str] = []
    diagnostics: list[Diagnostic] = []
    findings: list[Finding] = []


class Hit(Result):
    """One section of the documentation."""

    rank: int
    title: str
    heading: str = Field(description="Breadcrumb, page title first")
    source: str
    path: str
    url: str | None
    version: str | None
    snippet: str
    score: float
    ref: str = Field(description="Give this to read_doc")


CardKind = Literal["api", "isa", "counter", "error", "arch"]


class Card(Result):
    """What is known of one exact name."""

    ref: str = Field(description="Give this to read_doc")
    kind: CardKind
    name: str
    title: str
    text: str = Field(description="Markdown")
    origin: str = Field(description="Where the facts come from")
    version: str | None = None
    url: str | None = None


class SearchResult(Result):
    """The sections that answer a query best."""

    query: str
    exact: list[Card] = Field(default=[], description="Cards of the very names in the query; the surest answer")
    results: list[Hit]
    applied: list[str] = Field(default=[], description="Aliases and spelling corrections that were applied")
    note: str | None = None


class SectionRef(Result):
    """One section of a page, for reading on."""

    heading: str
    ref: str


class ReadResult(Result):
    """A piece of a page."""

    ref: str
    title: str
    heading: str
    source: str
    path: str
    url: str | None
    version: str | None
    text: str
    start: int
    next_start: int | None = Field(description="Give this as `start` to read on; null at the end")
    total_chars: int
    sections: list[SectionRef] = []
    note: str | None = Field(default=None, description="Says so where the page is of another version than this node")


class TargetInfo(Result):
    """A place where code runs."""

    name: str
    kind: Literal["emulator", "gpu"]
    arch: str
    gpu: str
    rocm: str | None
    default: bool
    ready: bool
    note: str | None = None


class TargetsResult(Result):
    """All targets that are known."""

    targets: list[TargetInfo]


class MissingInstruction(Result):
    """One instruction that the emulator does not know, in one function of a code object."""

    mnemonic: str
    count: int = Field(description="How often it stands in the function")
    function: str | None = Field(description="Symbol of the kernel or device function")
    line: str | None = Field(description="`FILE:LINE` of the first one, where there is debug data")
    offset: int = Field(description="Virtual address of the first one in the code object")
    text: str = Field(description="Disassembly of the first one")


class ImageCoverage(Result):
    """One code object: how many instructions it has, and which of them the emulator does not know."""

    arch: str
    instructions: int
    complete: bool
    note: str | None = Field(default=None, description="Why it could not be decoded")
    missing: list[MissingInstruction]


class FileCoverage(Result):
    """The code objects in one file."""

    file: str
    images: list[ImageCoverage]


class CoverageResult(Result):
    """Whether the emulator knows every instruction of some files."""

    complete: bool
    files: list[FileCoverage]


class ArchCoverage(Result):
    """What the emulator knows of all instructions of an architecture."""

    arch: str
    complete: bool
    instructions: int = Field(description="Mnemonics that the compiler's disassembler knows")
    missing: dict[str, str] = Field(description="Disassembly of an example, by mnemonic")


class DoctorCheck(Result):
    """One thing that must be there."""

    name: str
    status: Literal["ok", "warning", "missing"]
    found: str
    remedy: str | None = None


class DoctorResult(Result):
    """Whether everything that is needed is there."""

    ok: bool
    checks: list[DoctorCheck]


class JobResult(Result):
    """A job, and its answer once it has one: exactly one of the four is set when status is `done`."""

    job_id: str
    status: JobStatus
    progress: str | None = None
    error: str | None = None
    compile: CompileResult | None = None
    check: CheckResult | None = None
    benchmark: BenchmarkResult | None = None
    profile: ProfileResult | None = None
