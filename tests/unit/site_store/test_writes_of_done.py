"""What is done of a node is written under the number of an operation, wherever it is written (rules 37 and 45)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from design_rendering.kinds.objects import VERSION
from site_store.migrations import versions
from tests.conftest import ROOT

DONE = {"done_version", "done_digest", "done_revision", "done_at"}
# Each writer, and where it asks for the operation or names a new one: itself, or the function that is given its values.
WRITERS = {
    "actions/wishes.py adopt": "actions/wishes.py adopt",
    "nodes/node_status.py _following": "nodes/node_status.py _following",
    "operations/claims.py _NOT_DONE": "operations/claims.py _touch_nodes",
    "operations/outcomes.py _mark_relabelled": "operations/outcomes.py _mark_relabelled",
}
# Names of columns for those who read.
READERS = {"node_table/node_query.py NODE_COLUMNS"}
# A task says what its node was done for, and changes nothing of the node.
OF_TASKS = {"nodes/unsent.py number_as_wanted", "nodes/unsent.py forget_numbers"}


def names_done(part: ast.AST) -> bool:
    """Whether a part writes such a column: as a value of `values`, or under its name in a mapping of values."""
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "values":
        return any(word.arg in DONE for word in part.keywords)
    if isinstance(part, ast.Dict):
        return any(isinstance(key, ast.Constant) and key.value in DONE for key in part.keys)
    if isinstance(part, ast.DictComp):
        words = [one for over in part.generators for one in ast.walk(over.iter) if isinstance(one, ast.Constant)]
        return any(word.value in DONE for word in words)
    return False


def pieces(folder: Path) -> Iterator[tuple[str, ast.AST]]:
    """Yield functions, methods and constants of the store by file and name; what only describes tables is left out."""
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        if name.parts[0] in ("migrations", "tables"):
            continue
        body = ast.parse(path.read_text()).body
        for part in [*body, *(method for one in body if isinstance(one, ast.ClassDef) for method in one.body)]:
            if isinstance(part, ast.FunctionDef):
                yield f"{name} {part.name}", part
            elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                yield f"{name} {part.targets[0].id}", part


def has_op(part: ast.AST) -> bool:
    """Whether it changes nodes of one operation alone, or gives them a new one."""
    given = any(isinstance(one, ast.keyword) and one.arg == "op" for one in ast.walk(part))
    return given or any(asked in ast.unparse(part) for asked in ("node.c.op == ", "NODES.start("))


def test_rule_45_all_that_says_done_names_its_operation() -> None:
    known = dict(pieces(ROOT / "site_store"))
    found = {name for name, part in known.items() if any(names_done(one) for one in ast.walk(part))}
    assert found - READERS - OF_TASKS == set(WRITERS)
    assert [place for place in sorted(set(WRITERS.values())) if not has_op(known[place])] == []


def test_rule_38_the_newest_migration_of_digests_writes_those_of_today() -> None:
    """Without one, an upgrade would make every node dirty: all stored digests would be of another version."""
    names = sorted(path.stem for path in Path(versions.__file__).parent.glob("v*.py"))
    written = [getattr(import_module(f"{versions.__name__}.{name}"), "DIGESTS", None) for name in names]
    assert next(number for number in reversed(written) if number is not None) == int(VERSION), (
        f"design_rendering.kinds.objects has the version {VERSION}: write a migration that computes digests anew, "
        "and says so in DIGESTS"
    )
