"""References of operations as the engine makes them, found in what a provisioner shows (rules 12 and 61)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

REFERENCE: Final = re.compile(r"slipway-((?P<store>[0-9a-z]{8})-)?(?P<action>[0-9A-Z]{26})-(?P<op>[0-9]+)")
"""References as the engine makes them. Slipway 0.9.0 made them without the incarnation of its store."""
_ANYWHERE: Final = re.compile(rb"slipway-([0-9a-z]{8})-[0-9A-Z]{26}-([0-9]{1,18})")


def newest_reference(references: Iterable[str | None], store: str) -> str | None:
    """Return the reference of this store with the greatest number among any texts; None: there is none."""
    found = (REFERENCE.fullmatch(reference) for reference in references if reference is not None)
    ours = (one for one in found if one is not None and one["store"] == store)
    return max(((int(one["op"]), one[0]) for one in ours), default=(0, None))[1]


def newest_ops(answer: bytes) -> dict[str, int]:
    """Return the greatest number of an operation of each store whose references stand anywhere in an answer.

    One that was cut off has a smaller number, and so shows nothing new.
    """
    newest: dict[str, int] = {}
    for store, op in _ANYWHERE.findall(answer):
        name = store.decode()
        newest[name] = max(newest.get(name, 0), int(op))
    return newest
