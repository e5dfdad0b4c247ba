"""Settings: what a flag, the environment, the settings file or a default says, in this order.

Each field can be given as `AMDKERNEL_<FIELD>` (tables as JSON) or in the TOML file that `AMDKERNEL_CONFIG` names, by
default `$XDG_CONFIG_HOME/amdkernel/config.toml`. Read by hand: pydantic-settings
gives no file and line for an unknown key or a wrong value.
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from amdkernel_mcp.errors import SettingsError
from amdkernel_mcp.hardware.reserved_times import FORMS, read_time

PREFIX = "AMDKERNEL_"

# Variables of ours that are not settings: the place of the settings file, and what the emulator and the runner read.
_NOT_SETTINGS = frozenset({"AMDKERNEL_CONFIG", "AMDKERNEL_DEBUG", "AMDKERNEL_LIB"})
_NOT_SETTINGS_PREFIX = "AMDKERNEL_EMULATOR_"


class SlurmSettings(BaseModel):
    """The table `[slurm]`: a cluster whose GPUs are the targets `slurm:ARCH`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gres: dict[str, str] = Field(description="Architecture to what sbatch asks for: gfx942 to gpu:mi300x")
    url: str = Field(description="Address of this server as the nodes reach it")
    token_file: str = Field(description="File on the nodes with a token of the scope `worker`")
    amdkernel: str = Field(default="amdkernel", description="Path of the command on the nodes")
    partition: str | None = Field(default=None, description="Partition; without it the default one")
    account: str | None = Field(default=None, description="Account; `{user}` in it is the name of our user")
    options: list[str] = Field(default=[], description="Further options of sbatch")
    output: str = Field(default="/dev/null", description="Where a node writes the worker's messages; %j is the job")
    minutes: int = Field(default=60, ge=1, le=10080, description="Time limit of one session")
    commands: str = Field(default="", description="What runs Slurm's commands elsewhere, such as `ssh login1`")

    @field_validator("gres")
    @classmethod
    def _architectures(cls, gres: dict[str, str]) -> dict[str, str]:
        if not gres:
            raise ValueError('at least one architecture is needed, such as gfx942 = "gpu:mi300x"')
        for arch, name in gres.items():
            if not re.fullmatch(r"gfx[0-9a-f]{3,5}", arch):
                raise ValueError(f"{arch!r} is not an architecture such as gfx942")
            if not re.fullmatch(r"\w+(:[\w.-]+)?", name):
                raise ValueError(f"{name!r} is not a gres such as gpu:mi300x")
        return gres

    @field_validator("url", "token_file", "amdkernel", "output")
    @classmethod
    def _one_line(cls, text: str) -> str:
        if not text or any(ord(letter) < 32 for letter in text):
            raise ValueError("it must be one line of text")
        return text


class UserClass(BaseModel):
    """A table `[classes.NAME]`: users who may have more or less than others. What is not given is as for others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    users: list[str] = Field(description="Names, as tokens have them")
    priority: int = Field(default=0, ge=-100, le=100, description="Jobs of users with a higher one start before all")
    queued_jobs: int | None = Field(default=None, ge=1, le=10000, description="In place of user_queued_jobs")
    running_jobs: int | None = Field(default=None, ge=1, le=256, description="In place of user_running_jobs")
    gpu_seconds: int | None = Field(default=None, ge=1, description="In place of user_gpu_seconds")
    emulator_seconds: int | None = Field(default=None, ge=1, description="In place of user_emulator_seconds")
    job_minutes: float | None = Field(default=None, gt=0, description="In place of user_job_minutes")
    disk_mib: int | None = Field(default=None, ge=1, description="In place of user_disk_mib")
    gpus: list[str] = Field(default=[], description="Targets or hosts that no user of another class may use")
    gpus_when: list[str] = Field(default=[], description=f"When that holds; always without. {FORMS}")

    @field_validator("gpus_when")
    @classmethod
    def _readable(cls, windows: list[str]) -> list[str]:
        for each in windows:
            read_time(each)
        return windows


class Settings(BaseModel):
    """All settings; built once in `main` and passed down."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_dir: Path = Field(description="Attempts, artefacts and the documentation index")
    cache_dir: Path = Field(description="What can be made again: compile cache, downloaded packages")
    image: str | None = Field(
        default=None,
        description="Docker image with hipcc, python3 and NumPy to build the sandbox on, such as one of AMD's ROCm "
        "images; without it a root file system is built from Debian packages",
    )
    database: str | None = Field(
        default=None,
        description="URL of the database of attempts, such as postgresql://user@host/name; without it an SQLite "
        "file in data_dir",
        repr=False,
    )
    keep_days: int = Field(
        default=90, ge=1, le=36500, description="Days for which the files that an attempt names are always kept"
    )
    keep_mib: int = Field(
        default=2048, ge=0, le=1 << 30, description="MiB of such files up to which older ones are kept as well"
    )
    tools: list[str] = Field(default=[], description="The MCP tools to offer, separated by commas; without it all")
    read_only: bool = Field(default=False, description="Offer only the MCP tools that read and run nothing")
    docs_sources: Path | None = Field(
        default=None,
        description="A file like docs_index/sources.toml with further documentation sources, or other addresses for "
        "those it declares",
    )
    docs_notes: Path | None = Field(
        default=None,
        description="Folder of the team's own notes and lessons in Markdown, searched as the source `notes`",
    )
    debian_mirror: str | None = Field(
        default=None,
        description="Debian mirror for it; without this, one of the host's apt sources",
    )
    debian_suite: str = Field(default="forky", description="Debian suite for that root file system")
    hip: Literal["auto", "7.2", "6.4", "rocm-6.4", "rocm-7.2", "rocm-10.1"] = Field(
        default="auto",
        description="HIP release of that root file system; `auto`: 7.2 where the mirror has it, else 6.4; `rocm-N`: "
        "AMD's own packages, with rocprofv3, installed by Docker into Ubuntu 24.04",
    )
    allow_expired_release: bool = Field(
        default=False,
        description="Accept a Release file past its Valid-Until date, as a frozen mirror has; ignored otherwise",
    )
    docker_host: str | None = Field(
        default=None,
        description="Docker daemon: unix://PATH, tcp://HOST:PORT or ssh://USER@HOST; without it DOCKER_HOST, "
        "then the local socket",
    )
    default_target: str = Field(default="emulator:gfx942", description="Where kernels run when no target is named")
    isolation: Literal["auto", "docker", "none"] = Field(
        default="auto",
        description="`docker`: containers or nothing; `none`: subprocesses of an unprivileged user; "
        "`auto`: containers, and subprocesses only where Docker is not installed",
    )
    hosts: dict[str, str] = Field(
        default={}, description="Machines with AMD GPUs: a name and its Docker URL, for instance ssh://me@gpu1"
    )
    headers: dict[str, Path] = Field(
        default={},
        description="Folders of header libraries by name, which `// amdkernel: build --headers=NAME` takes",
    )
    allow_reset: bool = Field(
        default=False, description="Let `amdkernel worker` reset a GPU that does not come back: docs/serve.md"
    )
    start_unproven: bool = Field(
        default=False,
        description="Start kernels and programs that are not known to end without asking, also on a GPU whose reset "
        "takes down other GPUs or a desktop",
    )
    slurm: SlurmSettings | None = Field(
        default=None, description="A Slurm cluster whose GPUs are the targets slurm:ARCH: docs/slurm.md"
    )
    tokens: dict[str, str] = Field(
        default={}, description="Bearer tokens of `amdkernel serve`: token and the user's name", repr=False
    )
    tokens_file: Path | None = Field(default=None, description="The same in a file, a line each: TOKEN NAME")
    oidc_issuer: str | None = Field(
        default=None, description="Issuer of the JSON Web Tokens that `amdkernel serve` accepts as well"
    )
    oidc_audience: str | None = Field(default=None, description="Audience that such a token must name")
    oidc_jwks_uri: str | None = Field(default=None, description="Where the issuer publishes its keys")
    oidc_public_key: Path | None = Field(default=None, description="Or its one public key, a PEM file")
    oidc_algorithm: Literal["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "Ed25519"] = Field(
        default="RS256", description="How the issuer signs; no other algorithm is accepted"
    )
    oidc_scopes_claim: str = Field(default="scope", description="The claim with our scopes: a text or a list")
    audit_days: int = Field(default=90, ge=1, le=36500, description="Days for which the audit log is kept")
    max_connections_per_address: int = Field(
        default=128, ge=4, le=65536, description="Connections of one address that `amdkernel serve` keeps open"
    )
    max_workers: int = Field(
        default_factory=lambda: max(2, os.cpu_count() or 2), ge=1, le=256, description="Jobs that run at the same time"
    )
    drain_s: int = Field(
        default=60, ge=0, le=86400, description="Seconds for which a server that gets SIGTERM finishes its running jobs"
    )
    user_queued_jobs: int = Field(default=16, ge=1, le=10000, description="Jobs of one user that may wait")
    user_running_jobs: int | None = Field(
        default=None, ge=1, le=256, description="Jobs of one user that run at the same time; without it, all may"
    )
    user_gpu_seconds: int | None = Field(
        default=None, ge=1, description="Seconds for which one user may time on GPUs in 24 hours; without it, any"
    )
    user_emulator_seconds: int | None = Field(
        default=None, ge=1, description="Seconds for which jobs of one user may run on emulators in 24 hours"
    )
    user_job_minutes: float | None = Field(
        default=None, gt=0, description="Minutes after which a job is ended, from when it begins; without it, never"
    )
    user_disk_mib: int = Field(
        default=1024,
        ge=1,
        description="MiB that calls of one user of a server may add to the history in 24 hours",
    )
    classes: dict[str, UserClass] = Field(
        default={}, description="Users who may have more or less than others: docs/serve.md"
    )
    max_case_mib: int = Field(
        default=512, ge=1, le=1 << 20, description="MiB that the arrays of one case of a problem may take"
    )
    max_problem_mib: int = Field(
        default=1024, ge=1, le=1 << 20, description="MiB that the arrays of all cases of a problem may take together"
    )

    @field_validator("data_dir", "cache_dir", "tokens_file", "docs_sources", "docs_notes", "oidc_public_key")
    @classmethod
    def _without_tilde(cls, path: Path | None) -> Path | None:
        return path.expanduser().absolute() if path else path

    @field_validator("headers")
    @classmethod
    def _header_folders(cls, headers: dict[str, Path]) -> dict[str, Path]:
        for name in headers:
            if not re.fullmatch(r"[A-Za-z][\w-]{0,60}", name):
                raise ValueError(f"{name!r} cannot be the name of a header library")
        return {name: folder.expanduser().absolute() for name, folder in headers.items()}

    def disk_mib_of(self, owner: str) -> int | None:
        """What calls of a user may add in 24 hours; None, no limit, for the user of this machine."""
        if not owner.startswith("user:"):
            return None
        mine = [each.disk_mib for each in self.classes.values() if owner.removeprefix("user:") in each.users]
        return next(filter(None, mine), self.user_disk_mib)

    @field_validator("classes")
    @classmethod
    def _one_class_each(cls, classes: dict[str, UserClass]) -> dict[str, UserClass]:
        known: dict[str, str] = {}
        reserved: dict[str, str] = {}
        for name, each in classes.items():
            for what, values in ((known, each.users), (reserved, each.gpus)):
                for value in values:
                    if what.setdefault(value, name) != name:
                        raise ValueError(f"{name}: {value!r} is in the class {what[value]} as well")
        return classes

    @field_validator("hosts")
    @classmethod
    def _target_names(cls, hosts: dict[str, str]) -> dict[str, str]:
        for name, url in hosts.items():
            if name in ("emulator", "local", "slurm") or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
                raise ValueError(f"{name!r} cannot be the name of a host")
            if not re.match(r"(ssh|tcp|unix)://.", url):
                raise ValueError(f"{name}: {url!r} is not a Docker URL such as ssh://user@host")
        return hosts


def load_settings(flags: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force. `flags` whose value is None were not given. Raises SettingsError with file and line."""
    environ = os.environ if environ is None else environ
    file = settings_file(environ)
    from_file = _read_file(file, required="AMDKERNEL_CONFIG" in environ)
    from_environment = _read_environment(environ)
    from_flags = {name: value for name, value in (flags or {}).items() if value is not None}
    merged = _default_folders(environ) | from_file | from_environment | from_flags
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][0])
        message = problem["msg"].removeprefix("Value error, ")
        inner = _key_in_table(problem["loc"][1:], merged[name], message)
        if name in from_flags:
            raise SettingsError(f"--{name.replace('_', '-')}: {message}") from None
        if name in from_environment:
            raise SettingsError(f"{PREFIX}{name.upper()}: {message}") from None
        key, said = (f"{name}.{inner}", message.removeprefix(f"{inner}: ")) if inner else (name, message)
        raise SettingsError(f"{key}: {said}", file=str(file), line=_line_of(name, file, inner)) from None


def _key_in_table(inside: Sequence[int | str], value: object, message: str) -> str | None:
    """The key of a table that an error is about; a validator of ours begins its message with it."""
    if inside:
        return str(inside[0])
    names = value if isinstance(value, dict) else {}
    return next((name for name in names if message.startswith((f"{name}:", f"{name!r} "))), None)


def settings_file(environ: Mapping[str, str]) -> Path:
    """Where the settings file is, or would be."""
    if named := environ.get("AMDKERNEL_CONFIG"):
        return Path(named).expanduser()
    return _xdg(environ, "XDG_CONFIG_HOME", ".config") / "config.toml"


def _read_file(file: Path, *, required: bool) -> dict[str, object]:
    try:
        text = file.read_text()
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        if required:
            raise SettingsError(f"the settings file cannot be read: {error.strerror}", file=str(file)) from None
        return {}
    except UnicodeDecodeError:
        raise SettingsError("the settings file is not UTF-8 text", file=str(file)) from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line, hint = int(found[1]) if found else None, "text needs quotes"
        raise SettingsError(f"not TOML: {error}", file=str(file), line=line, hint=hint) from None
    for name in values:
        if name not in Settings.model_fields:
            raise SettingsError(f"unknown setting {name!r}{_nearest(name)}", file=str(file), line=_line_of(name, file))
    return values


def _read_environment(environ: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or variable in _NOT_SETTINGS or variable.startswith(_NOT_SETTINGS_PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in Settings.model_fields:
            raise SettingsError(f"unknown setting {variable} in the environment{_nearest(name)}")
        if name in ("classes", "headers", "hosts", "slurm", "tokens"):
            try:
                values[name] = json.loads(text)
            except ValueError:
                raise SettingsError(f"{variable} is not a JSON object") from None
        elif name == "tools":
            values[name] = [part.strip() for part in text.split(",") if part.strip()]
        elif text:  # an empty variable is as good as none: CI files often cannot unset one
            values[name] = text
    return values


def _default_folders(environ: Mapping[str, str]) -> dict[str, object]:
    return {
        "data_dir": _xdg(environ, "XDG_DATA_HOME", ".local/share"),
        "cache_dir": _xdg(environ, "XDG_CACHE_HOME", ".cache"),
    }


def _xdg(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    folder = environ.get(variable, "")
    home = Path(environ.get("HOME") or "~").expanduser()
    return (Path(folder) if folder.startswith("/") else home / below_home) / "amdkernel"


def _line_of(name: str, file: Path, inner: str | None = None) -> int | None:
    """The line of a key or table, and in that of the key `inner`; None when it is not spelled out there."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    found = _first_line(lines, name)
    below = _first_line(lines[found:], inner) if found and inner else None
    return found + below if found and below else found


def _first_line(lines: Sequence[str], name: str) -> int | None:
    pattern = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[=.\]]""")
    return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), None)


def _nearest(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, Settings.model_fields, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(Settings.model_fields)}"
