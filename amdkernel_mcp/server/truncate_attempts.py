"""Truncates what list_attempts answers: fewer lines, or the beginning of the texts of one attempt."""

from __future__ import annotations

from amdkernel_mcp.results.history import AttemptList, AttemptShown

_REASON_CHARS = 160
_TEXT_CHARS = (2000, 800, 300, 100)
_ALWAYS = frozenset({"format", "id", "verb", "created", "by", "parent", "version", "target", "verdict", "file_name"})


def truncate_attempts(result: AttemptList, limit: int) -> AttemptList:
    """`result` in at most `limit` bytes."""
    if result.shown:
        return result.model_copy(update={"shown": _shorter(result.shown, limit - 100)})
    lines = [
        line.model_copy(update={"reason": _cut(line.reason, _REASON_CHARS), "note": line.note and _cut(line.note, 160)})
        for line in result.attempts
    ]
    shorter = result.model_copy(update={"attempts": lines})
    while len(lines) > 1 and _bytes(shorter) > limit:
        lines.pop()
        shorter = shorter.model_copy(update={"attempts": list(lines), "next": lines[-1].id})
    return shorter


def _shorter(shown: AttemptShown, limit: int) -> AttemptShown:
    record = {name: value for name, value in shown.attempt.items() if name in _ALWAYS}
    record["answer"] = {"reason": _cut(str(shown.attempt["answer"].get("reason", "")), 600)}
    more = f'… read_doc("attempt:{shown.attempt["id"]}") has all of it'
    for characters in _TEXT_CHARS:
        shorter = shown.model_copy(
            update={
                "attempt": record,
                "source": _cut(shown.source, characters, more),
                "diff": shown.diff and _cut(shown.diff, characters, more),
                "lessons": [
                    each.model_copy(update={"text": _cut(each.text, characters // 4)}) for each in shown.lessons[-5:]
                ],
            }
        )
        if _bytes(shorter) <= limit:
            break
    return shorter


def _cut(text: str, characters: int, more: str = "…") -> str:
    return text if len(text) <= characters else text[:characters] + more


def _bytes(result: AttemptList | AttemptShown) -> int:
    return len(result.model_dump_json(by_alias=True).encode())
