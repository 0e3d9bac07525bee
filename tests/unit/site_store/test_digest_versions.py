"""What goes into the digests of nodes has a version, and each version a migration that brought it (rule 38)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from design_rendering.kinds.objects import VERSION
from site_store.migrations import versions


def test_rule_38_the_newest_migration_of_digests_writes_those_of_today() -> None:
    """Without one, an upgrade would make every node dirty: all stored digests would be of another version."""
    names = sorted(path.stem for path in Path(versions.__file__).parent.glob("v*.py"))
    written = [getattr(import_module(f"{versions.__name__}.{name}"), "DIGESTS", None) for name in names]
    assert next(number for number in reversed(written) if number is not None) == int(VERSION), (
        f"design_rendering.kinds.objects has the version {VERSION}: write a migration that computes digests anew, "
        "and says so in DIGESTS"
    )
