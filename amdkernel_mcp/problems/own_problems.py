"""Problems that callers made: below `data_dir/problems`, each user has a folder of their own and one of shared ones.

A name may say more: `ann/softmax` is what Ann shares, where several users share one of a name or the caller has one;
`softmax@1a2b3c4d5e6f` is the one with this hash, and refused once its author has changed it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from amdkernel_mcp.errors import InputError, ProblemFileError
from amdkernel_mcp.file_lock import locked
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import bundled_problems, load_problem
from amdkernel_mcp.problems.size_limits import DEFAULT_LIMITS, SizeLimits
from amdkernel_mcp.quoting import words_of

MOST_PROBLEMS = 200
"""Of a user, shared ones included."""
_SHARED = "shared"
"""What a user shares is in `shared-USER`; what was shared by earlier versions, in `shared`. No user's own folder has
such a name: they are `local` or begin with `user%3A` or `long-`."""
_LONGEST_FOLDER = 200
_OWNER = "owner"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LONGER_NAME = re.compile(r"(?:(?P<author>.{1,300})/)?(?P<name>[a-z0-9][a-z0-9_-]{0,63})(?:@(?P<hash>[0-9a-f]{6,64}))?")


class OwnProblems:
    """The problems of all users. A user sees only his own and shared ones. Safe between threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, name: str, by: str) -> Path | None:
        """The folder of a user's problem, else of the shared one; None where there is none of this name.

        Raises InputError where several users share one.
        """
        with self._found(name, by) as place:
            return place

    def load(self, name: str, by: str, limits: SizeLimits = DEFAULT_LIMITS) -> Problem | None:
        """The problem that `find` finds, whole also while it is replaced. Raises ProblemFileError, InputError.

        Another user's has its author, and so has what is wrong in it.
        """
        with self._found(name, by) as place:
            if place is None:
                return None
            author = None if self._of(by) == place.parent else _without_kind(_owner(place))
            if author is None or author == _without_kind(by):
                return _pinned(load_problem(place, limits), name)
            try:
                found = replace(load_problem(place, limits), author=author)
            except ProblemFileError as error:
                raise _with_plain_file(error, author) from None
            return _pinned(found, name)

    @contextmanager
    def _found(self, name: str, by: str) -> Iterator[Path | None]:
        """In the block, no other thread or process replaces what was found."""
        if (asked := _LONGER_NAME.fullmatch(name)) is None:
            yield None
            return
        plain, author = asked["name"], asked["author"]
        own = [self._of(by)] if author is None and self._of(by).is_dir() else []
        places = self._there(plain, own) or self._there(plain, self._shared_folders())
        if author is not None:
            places = [place for place in places if _without_kind(_owner(place)) == author]
        if len(places) > 1:
            authors = sorted(map(_with_author, places))
            raise InputError(f"{len(places)} users share a problem {name}", hint=f"name one: {', '.join(authors[:20])}")
        for place in places:
            with _alone(place.parent):
                if (place / "problem.toml").is_file():
                    yield place
                    return
        yield None

    def _there(self, name: str, folders: Sequence[Path]) -> list[Path]:
        """In which of them a problem is; each is asked while nothing in it is replaced."""
        found = []
        for folder in folders:
            with _alone(folder):
                if (folder / name / "problem.toml").is_file():
                    found.append(folder / name)
        return found

    def _shared_folders(self) -> Sequence[Path]:
        return [folder for folder in (self._folder / _SHARED, *self._folder.glob(f"{_SHARED}-*")) if folder.is_dir()]

    def _shared(self) -> list[Path]:
        """All problems that users share."""
        return [folder / name for folder in self._shared_folders() for name in _names(folder)]

    def names(self, by: str) -> list[str]:
        """What finds a user's problems and shared ones, each by its shortest name."""
        own, shared = {*_names(self._of(by))}, self._shared()
        count = Counter(place.name for place in shared)
        longer = {
            place.name if count[place.name] == 1 and place.name not in own else _with_author(place) for place in shared
        }
        return sorted(own | longer)

    def sharer(self, name: str, by: str) -> str | None:
        """The name of the user who shares the problem that `find` returns; None for the user's own."""
        found = self.find(name, by)
        return _without_kind(_owner(found)) if found is not None and found.parent != self._of(by) else None

    def create(
        self,
        name: str,
        declaration: str,
        reference: str,
        by: str,
        *,
        shared: bool = False,
        limits: SizeLimits = DEFAULT_LIMITS,
        examine: Callable[[Problem], None],
    ) -> Problem:
        """Store a problem, in place of an older one of the same name, once `examine` has accepted it.

        `shared`: for all users; only who shared it may replace it. Raises InputError for a name that cannot be used,
        ProblemFileError with the line that is wrong.
        """
        self.refuse_name(name, by, shared=shared)
        folder = self._sharing(name, by) if shared else self._of(by)
        try:
            for each in (self._folder.parent, self._folder, folder):  # `parents` would ignore the mode
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as temporary:
                new = Path(temporary) / name
                new.mkdir(mode=0o700)
                _write(new / "problem.toml", declaration)
                _write(new / "reference.py", reference)
                try:
                    examine(load_problem(new, limits))
                except ProblemFileError as error:
                    raise _with_plain_file(error) from None
                if shared:
                    _write(new / _OWNER, by)
                with _alone(folder):
                    self.refuse_name(name, by, shared=shared)  # another may have been quicker
                    _replace(new, folder / name, Path(temporary) / "old")
                    return load_problem(folder / name, limits)
        except (OSError, UnicodeEncodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not valid Unicode text"
            raise InputError(f"the problem {name!r} cannot be stored: {why}") from None

    def refuse_name(self, name: str, by: str, *, shared: bool = False) -> None:
        """Raises InputError for a name that `create` would refuse."""
        if not _NAME.fullmatch(name):
            raise InputError(f"{name[:80]!r} cannot be the name of a problem", hint="use a-z, 0-9, _ and -, at most 64")
        if name in bundled_problems():
            raise InputError(f"{name} is a bundled problem", hint="choose another name")
        own = _names(self._of(by))
        if shared and name in own:
            raise InputError(f"you have a problem {name} that is not shared", hint="choose another name")
        mine = [*own, *(place.name for place in self._shared() if _owner(place) == by)]
        if len(mine) >= MOST_PROBLEMS and name not in mine:
            raise InputError(f"there are {MOST_PROBLEMS} problems already", hint="create one under a name that exists")

    def _sharing(self, name: str, by: str) -> Path:
        """The folder for what a user shares: the old one for what was shared there."""
        old = self._folder / _SHARED
        return old if _owner(old / name) == by else self._folder / f"{_SHARED}-{self._of(by).name}"

    def _of(self, by: str) -> Path:
        name = quote(by, safe="")
        if len(name) > _LONGEST_FOLDER:  # no file system takes it
            name = f"long-{hashlib.sha256(by.encode()).hexdigest()}"
        return self._folder / name


def _write(file: Path, text: str) -> None:
    """Make a file that other users of the machine cannot read."""
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")


def _names(folder: Path) -> list[str]:
    return [file.parent.name for file in folder.glob("*/problem.toml")]


def _owner(place: Path) -> str | None:
    """The user who shared the problem in this folder."""
    file = place / _OWNER
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _with_author(place: Path) -> str:
    return f"{_without_kind(_owner(place))}/{place.name}"


def _pinned(problem: Problem, name: str) -> Problem:
    """The problem, if its hash is the one that the name asks for."""
    _, _, wanted = name.rpartition("/")[2].partition("@")
    now = problem.hash.removeprefix("sha256:")
    if not now.startswith(wanted):
        raise InputError(
            f"{problem.name} is another problem by now: its hash is {now[:12]}, not {wanted[:12]}",
            hint=f"{problem.author or 'you'} changed it; read it again, then name it without the hash or with this one",
        )
    return problem


def _without_kind(user: str | None) -> str | None:
    return user and user.removeprefix("user:")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One at a time, between threads and processes."""
    with locked(folder / ".lock"):
        yield


def _replace(new: Path, place: Path, aside: Path) -> None:
    """Move `new` to its place. An older folder is moved aside; `load` waits meanwhile."""
    if place.exists():
        os.rename(place, aside)
    try:
        os.rename(new, place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _with_plain_file(error: ProblemFileError, author: str | None = None) -> ProblemFileError:
    """The error with the file's own name: the folder in which it was read is gone, or is another user's."""
    file = Path(error.file).name if error.file else None
    message = error.message.replace(str(Path(error.file).parent) + os.sep, "") if error.file else error.message
    return ProblemFileError(
        words_of(author, message) if author else message, file=file, line=error.line, hint=error.hint
    )
