"""Inside the sandbox: runs a command and copies the files that it made or changed to $OUT/files.

`keep_files.py [--modified FILE] COMMAND…`; the exit code is the command's. FILE has `TIME PATH` and a NUL for each file
that was sent, because `make` compares times and the archive that brought the files has none.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

MOST_FILES = 900  # $OUT has room for little more
MOST_BYTES = 240 << 20
INTERMEDIATE = (".o", ".d")
INTERMEDIATE_FOLDERS = {"CMakeFiles"}
COULD_NOT_START = 127

State = tuple[int, int, int]  # size, time of the last change, inode


def main() -> int:
    """The command's exit code; 128 + N where signal N ended it."""
    words = sys.argv[1:]
    if words[0] == "--modified":
        set_times(Path(words[1]))
        words = words[2:]
    before = dict(files_below(Path()))
    signal.signal(signal.SIGTERM, lambda *_: None)  # at a time-out: the command ends, and what it wrote is kept
    try:
        process = subprocess.Popen(words)
    except OSError as error:
        print(f"{words[0]} cannot be started: {error.strerror}", file=sys.stderr)
        return COULD_NOT_START
    code = process.wait()
    keep([path for path, state in files_below(Path()) if before.get(path) != state])
    return code if code >= 0 else 128 - code


def set_times(listed: Path) -> None:
    """Give each file the time that it has on the user's machine."""
    for entry in listed.read_text(errors="surrogateescape").split("\0")[:-1]:
        time, _, name = entry.partition(" ")
        os.utime(name, (float(time), float(time)))
    listed.unlink()


def files_below(folder: Path) -> list[tuple[Path, State]]:
    """All files, links to files inside the folder included; what compilers leave for later steps is left out."""
    found = []
    root = folder.resolve()
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - INTERMEDIATE_FOLDERS)
        for path in (Path(here, name) for name in sorted(names) if not name.endswith(INTERMEDIATE)):
            if path.is_file() and path.resolve().is_relative_to(root):
                status = path.stat()
                found.append((path, (status.st_size, status.st_mtime_ns, status.st_ino)))
    return found


def keep(paths: list[Path]) -> None:
    """Copy them, as many as there is room for."""
    out = Path(os.environ["OUT"]) / "files"
    room = MOST_BYTES
    for number, path in enumerate(paths):
        room -= path.stat().st_size
        if number == MOST_FILES or room < 0:
            left = len(paths) - number
            print(
                f"amdkernel: {left} files are not brought back: {MOST_FILES} files and {MOST_BYTES >> 20} MiB at most",
                file=sys.stderr,
            )
            return
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, out / path)


if __name__ == "__main__":
    sys.exit(main())
