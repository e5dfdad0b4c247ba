"""What `amdkernel admin` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.escape import visible
from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.results.access import (
    AuditList,
    BackupResult,
    GpuList,
    ListedToken,
    NewToken,
    RestoreResult,
    RevokedToken,
    TokenList,
    UserList,
)

_STATES = {"valid": "green", "expired": "yellow", "revoked": "red"}
_GPU_STATES = {"usable": "green", "suspect": "yellow", "quarantined": "red"}
_OUTCOMES = {"done": "green", "failed": "yellow", "refused": "red"}


def show_users(console: Console, result: UserList) -> None:
    """A line for each user."""
    if not result.users:
        console.print(Text("no users yet: `amdkernel admin tokens add NAME` makes the first one", "yellow"))
        return
    table = parts.table("user", "scopes", "valid tokens", "tokens file", "last used (UTC)")
    for each in result.users:
        in_file = "yes" if each.in_tokens_file else ""
        count = str(each.valid_tokens)
        table.add_row(Text(visible(each.name)), " ".join(each.scopes), count, in_file, _minute(each.last_used))
    console.print(table)


def show_new(console: Console, result: NewToken) -> None:
    """The token alone on its line, so that it can be copied; or the file that has it."""
    console.print(Text(result.token or f"written to {visible(result.file or '')}"), soft_wrap=True)
    console.print(Text(f"{result.added.user}: {_facts(result.added)}", "dim"))
    goes = "the user puts it into the environment variable AMDK_TOKEN"
    if "worker" in result.added.scopes:
        goes = "it goes into a file of mode 600 on the GPU host, for `amdkernel worker --token-file FILE`"
    console.print(Text(f"it is not shown again; {goes}", "dim"))


def show_tokens(console: Console, result: TokenList) -> None:
    """A line for each token."""
    table = parts.table("token", "user", "scopes", "state", "created (UTC)", "expires", "last used")
    for each in result.tokens:
        table.add_row(
            Text(each.id, "cyan"),
            Text(visible(each.user)),
            " ".join(each.scopes),
            Text(each.state, _STATES[each.state]),
            _minute(each.created),
            _minute(each.expires),
            _minute(each.last_used),
        )
    console.print(table)


def show_revoked(console: Console, result: RevokedToken) -> None:
    """The token, and what its user still has on servers."""
    show_tokens(console, result)
    count = len(result.unfinished_jobs)
    if count:
        user, jobs = visible(result.tokens[0].user), "1 unfinished job" if count == 1 else f"{count} unfinished jobs"
        parts.print_whole(
            console, Text(f"{user} has {jobs}, not ended by this; with a token of scope admin:", "yellow")
        )
    for job in result.unfinished_jobs:
        parts.print_whole(console, Text(f"  amdkernel job {visible(job)} --cancel --url ADDRESS"))


def show_gpus(console: Console, result: GpuList) -> None:
    """A line for each GPU, and below them what keeps jobs off."""
    if not result.gpus:
        console.print(Text("no job has used a GPU yet", "dim"))
        return
    table = parts.table("GPU", "target", "state", "last look (UTC)", "what it said", "clocks")
    for each in result.gpus:
        state = Text(each.state, _GPU_STATES[each.state])
        clocks = "/".join(f"{mhz:.0f}" if mhz else "-" for mhz in (each.clocks.sclk_mhz, each.clocks.mclk_mhz))
        facts = (_minute(each.looked), visible(each.seen or ""), f"{clocks} MHz")
        table.add_row(Text(visible(each.id), "cyan"), Text(visible(each.target)), state, *facts)
    console.print(table)
    for each in result.gpus:
        if each.reason:
            since = f" since {_minute(each.since)}" if each.since else ""
            style = _GPU_STATES[each.state]
            parts.print_whole(console, Text(f"{each.target}: {each.state}{since}: {visible(each.reason)}", style))


def show_backup(console: Console, result: BackupResult) -> None:
    """What was written, and what belongs to it."""
    parts.print_whole(console, Text(f"✓ {result.file}: {result.bytes:,} bytes, tables {result.version}", "green"))
    if result.not_in_it:
        console.print(Text("files that belong to it, to be copied as well, such as with tar:", "dim"))
    for path in result.not_in_it:
        parts.print_whole(console, Text(f"  {path}", "dim"))


def show_restored(console: Console, result: RestoreResult) -> None:
    """What is the database now, and where the old one is."""
    parts.print_whole(console, Text(f"✓ {result.file} is the database now, tables {result.version}", "green"))
    if result.kept:
        parts.print_whole(console, Text(f"the one before it: {result.kept}", "dim"))
    if result.revoked_again:
        console.print(f"revoked since the backup, and still revoked: {', '.join(result.revoked_again)}")
    if result.note:
        console.print(Text(result.note, "yellow"))


def show_audit(console: Console, result: AuditList) -> None:
    """A line for each event, newest first."""
    table = parts.table("when (UTC)", "user", "from", "what", "job or attempt", "outcome", "why")
    for each in result.lines:
        what = f"{each.action} on {each.target}" if each.target else each.action
        table.add_row(
            each.at.replace("T", " ").removesuffix("Z"),
            Text(visible(each.user)),
            Text(visible(each.address)),
            Text(visible(what)),
            Text(visible(each.attempt or each.job or "")),
            Text(each.outcome, _OUTCOMES[each.outcome]),
            Text(visible(each.reason or "")),
        )
    console.print(table)


def _facts(token: ListedToken) -> str:
    until = f"until {_minute(token.expires)} UTC" if token.expires else "until it is revoked"
    return f"{' '.join(token.scopes)}, {until}, id {token.id}"


def _minute(time: str | None) -> str:
    return time[:16].replace("T", " ") if time else ""
