"""What goes into the digests of nodes has a version, and each version a migration that brought it (rule 38)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from design_rendering.changes.digests import VERSION
from site_store import migrations


def test_rule_38_the_newest_migration_of_digests_writes_those_of_today() -> None:
    """Without one, an upgrade would make every node dirty: all stored digests would be of another version."""
    newest = max(path.stem for path in Path(migrations.__file__).parent.glob("digests_*.py"))
    written = import_module(f"{migrations.__name__}.{newest}").DIGESTS
    assert written == int(VERSION), (
        f"design_rendering.changes.digests has the version {VERSION}: write a migration that computes digests anew"
    )
