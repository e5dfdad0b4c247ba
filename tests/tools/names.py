"""The names of the tools."""

NAMES = [
    "benchmark_kernel",
    "check_kernel",
    "check_program",
    "compile_kernel",
    "create_problem",
    "get_job",
    "list_attempts",
    "list_jobs",
    "list_problems",
    "list_targets",
    "note_lesson",
    "port_cuda",
    "profile_kernel",
    "read_doc",
    "search_docs",
    "tune_kernel",
]
