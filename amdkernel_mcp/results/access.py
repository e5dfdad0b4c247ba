"""What `amdkernel admin` answers. Times are UTC, as ISO 8601."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.kernels import Clocks
from amdkernel_mcp.results.quantity import Result


class ListedToken(Result):
    """A token without its text, which only its user has."""

    id: str
    user: str
    scopes: list[str]
    state: Literal["valid", "expired", "revoked"]
    created: str
    expires: str | None
    last_used: str | None = Field(description="To the minute")


class TokenList(Result):
    """Tokens by user and age."""

    tokens: list[ListedToken]


class RevokedToken(TokenList):
    """A token that was revoked, in a list of one."""

    unfinished_jobs: list[str] = Field(description="Ids of its user's jobs: still to be cancelled by an admin")


class NewToken(Result):
    """A token that was made. Its text is shown once, or is in a file alone."""

    token: str | None
    file: str | None = None
    added: ListedToken


class ListedUser(Result):
    """A user with a token in the database, in the tokens file or in the settings."""

    name: str
    scopes: list[str] = Field(description="Of all valid tokens together")
    valid_tokens: int
    in_tokens_file: bool
    last_used: str | None = Field(description="Of tokens in the database")


class UserList(Result):
    """Users by name."""

    users: list[ListedUser]


class ListedGpu(Result):
    """What is known of a GPU that jobs used."""

    id: str = Field(description="The same from each machine")
    target: str = Field(description="As the last server or command line that used it calls it")
    state: Literal["usable", "suspect", "quarantined"]
    reason: str | None = Field(description="Why nothing runs on it, or why the next job waits for its baseline")
    since: str | None = Field(description="Of the quarantine")
    looked: str | None = Field(description="When its driver was last asked")
    seen: str | None = Field(description="What it said")
    clocks: Clocks = Field(default_factory=Clocks, description="At that look")


class GpuList(Result):
    """GPUs by target."""

    gpus: list[ListedGpu]


class BackupResult(Result):
    """A copy of the database."""

    file: str
    bytes: int
    version: str = Field(description="Of the tables")
    not_in_it: list[str] = Field(description="Files and folders that belong to it and are copied by other means")


class RestoreResult(Result):
    """A backup that is the database now."""

    file: str
    version: str = Field(description="Of its tables; an older one is migrated when it is next opened")
    kept: str | None = Field(description="The database that it replaced")
    revoked_again: list[str] = Field(
        default=[], description="Ids of tokens that are valid in the backup and were revoked since: they stay revoked"
    )
    note: str | None = None


class AuditLine(Result):
    """Who did what, from where."""

    at: str
    user: str = Field(description="Empty: no known user")
    token: str | None = Field(description="Id of a token in the database")
    address: str
    action: str = Field(description="The tool, or method and path of a request that was refused before any tool")
    target: str | None
    job: str | None
    attempt: str | None
    outcome: Literal["done", "failed", "refused"]
    reason: str | None


class AuditList(Result):
    """The audit log, newest first."""

    lines: list[AuditLine]
