"""Counts lines of code by room: lines with a token that is no comment and no docstring. Simulators stand apart.

    python tests/bench/count_lines.py [FOLDER]

FOLDER is a checkout (default: the one that this file is in). Only files that Git tracks count.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
_SIMULATORS = ("provisioner_client/simulator/",)


def code_lines(source: str) -> int:
    """Count the lines of a Python source that hold a token other than comments and docstrings; imports count."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        # Also the texts below assignments that document them.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def room_of(path: str) -> str:
    """Return the room that a file counts for: its top folder, or "simulators" for what stands for machines."""
    if path.startswith(_SIMULATORS):
        return "simulators"
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in {"plugins", "tests"} and len(parts) > 2 else parts[0]


def main() -> None:
    """Print a line for each room, and the sums of product, simulators and tests."""
    top = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    listed = subprocess.run(["git", "ls-files", "*.py", "*.sql"], cwd=top, check=True, capture_output=True, text=True)
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for name in listed.stdout.split():
        if not (top / name).is_file():
            continue
        source = (top / name).read_text(encoding="utf-8")
        room = room_of(name)
        files[room] += 1
        if name.endswith(".sql"):
            lines[room] += sum(1 for line in source.splitlines() if line.strip() and not line.lstrip().startswith("--"))
        else:
            lines[room] += code_lines(source)
    for room in sorted(lines):
        sys.stdout.write(f"{lines[room]:>8,}  {files[room]:>5} files  {room}\n")
    tests = {room for room in lines if room.startswith("tests")}
    product = lines.keys() - tests - {"simulators"}
    for title, rooms in (("product", product), ("simulators", {"simulators"}), ("tests", tests)):
        total, count = sum(lines[room] for room in rooms), sum(files[room] for room in rooms)
        sys.stdout.write(f"{total:>8,}  {count:>5} files  {title} in all\n")


if __name__ == "__main__":
    main()
