"""Nodes that are named on the command line: by their name, or by a pattern such as `r1-*`."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase


def matching(pattern: str, names: Collection[str]) -> list[str]:
    """Return the nodes that are meant: the one of this very name, or else all that the pattern fits."""
    return [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
