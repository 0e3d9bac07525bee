"""What differs between two large mappings of which most values are the same: found without Python code for each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from itertools import compress
from operator import is_not, ne
from typing import TypeVar

T = TypeVar("T")


def other_objects(before: Mapping[str, T], after: Mapping[str, T]) -> list[str]:
    """Return the keys of `after` whose value is another object than before, or was not there; None is no value."""
    return list(compress(after, map(is_not, after.values(), map(before.get, after))))


def other_values(before: Mapping[str, T], after: Mapping[str, T]) -> list[str]:
    """Return the keys of `after` whose value is not equal to the one before, or was not there; None is no value."""
    return list(compress(after, map(ne, after.values(), map(before.get, after))))


def gone_keys(before: Mapping[str, T], after: Mapping[str, T], other: Collection[str]) -> Set[str]:
    """Return the keys that `after` has no more; `other`: all those of it that differ, as the functions above say."""
    new = sum(key not in before for key in other)
    return frozenset() if len(after) - new == len(before) else before.keys() - after.keys()
