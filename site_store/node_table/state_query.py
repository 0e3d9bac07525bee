"""Which nodes of a site the table of states is asked for, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from site_store.errors import ValueRefused
from site_store.sql.storable import require_text
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.parsing.bounded_json import read_json

STATE_COLUMNS: Final = ("node", "state", "reported", "user", "rack", "crashes", "since")
"""The columns that the table can be sorted by; `since`: when the published state began."""
FILTERED_BY: Final = ("rack", "state", "reported", "user", "reason", "set_by", "crashes")
"""Those that it can be filtered by: `reason` and `set_by` contain a text; `crashes`: so many at least."""
UNSEEN: Final = "unknown"
"""The word for a state of a node that no controller has seen yet."""
_LARGEST: Final = 2**31


@dataclass(frozen=True, slots=True)
class StateQuery:
    """Which nodes of a site are asked for, in which order.

    Attributes
    ----------
    text : only those whose name contains it, whatever its case.
    group : only those of this group of the committed design.
    columns : only those where the column of this name (see `FILTERED_BY`) is so.
    sort : one of `STATE_COLUMNS`; states by availability, the least first. `descending` from its end.
    limit : how many at most.
    after : what `StatePage.after` said; None: the first page.
    taken_down : nodes that their group has taken down in the newest version, with the reason. It is known of no single
        node.
    """

    text: str = ""
    group: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    sort: str = "state"
    descending: bool = False
    limit: int = 50
    after: str | None = None
    taken_down: Mapping[str, str] = field(default_factory=dict)


def require_sound(query: StateQuery) -> None:
    if query.sort not in STATE_COLUMNS:
        raise ValueRefused(f"states cannot be sorted by {query.sort!r}: name one of {', '.join(STATE_COLUMNS)}")
    for what, value in (("q", query.text), ("group", query.group or ""), *query.columns.items()):
        require_text(what, value)
    states = (*map(str, NodeAvailability), UNSEEN)
    for name, value in query.columns.items():
        if name not in FILTERED_BY:
            raise ValueRefused(f"states cannot be filtered by {name!r}: name one of {', '.join(FILTERED_BY)}")
        if name in ("state", "reported", "user") and value not in states:
            raise ValueRefused(f"{name} cannot be {value[:40]!r}: name one of {', '.join(states)}")
        if name == "crashes" and not (value.isascii() and value.isdigit() and len(value) <= 6):
            raise ValueRefused(f"crashes must be a number, such as 3, and not {value[:40]!r}")


def place_of(query: StateQuery) -> tuple[Any, str] | None:
    """Return the value and the name that `after` was made of."""
    if query.after is None:
        return None
    try:
        value, name = read_json(query.after)
        kind = str if query.sort in ("node", "rack") else (int, float)
        if not isinstance(name, str) or not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError("no node has such a place")
        for text in (name, value) if isinstance(value, str) else (name,):
            require_text("the place", text)
        if isinstance(value, int | float) and not abs(value) <= _LARGEST:
            raise ValueError("no number of a node is as large")
    except (TypeError, ValueError, ValueRefused) as error:
        raise ValueRefused(f"{query.after!r} is not from a page of this table: leave it out to begin anew") from error
    return value, name
