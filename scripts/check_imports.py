"""Fails where a script that runs inside a sandbox imports the host's library, which is not there.

The rules between the rooms of `amdkernel_mcp` are import-linter's: `lint-imports`, [tool.importlinter].
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = ("amdkernel_mcp", "tools")


def imported(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and module of every import."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.lineno, node.module or ""))
    return found


def main() -> int:
    """The exit code: 1 where something was found."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {module}, which no sandbox has"
        for path in sorted((ROOT / "sandbox").rglob("*.py"))
        for line, module in imported(ast.parse(path.read_text()))
        if module.partition(".")[0] in HOST
    ]
    print("\n".join(wrong) or "no script in sandbox/ imports the host's library")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
