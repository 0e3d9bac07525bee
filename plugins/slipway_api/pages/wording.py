"""How pages put values into words: times, durations, numbers, statuses, what reporters say, and links to follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import groupby
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from site_engine.trees.status_trees import StatusTree
from strategy_lib.phase import GROUP_PHASES, Phase
from strategy_lib.status.entry import Entry
from strategy_lib.status.serves import Serves
from strategy_lib.status.words import UNRECORDED_SYMBOL, Status, status_from

REPLACEMENT = "�"
_SPACES = "\n\t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
NOTHING = "—"
LEAVES_SHOWN = 100
"""Leaves of reporters."""


def visible(value: object) -> object:
    """Return a text with each control character replaced, also those that turn the direction of writing round."""
    if isinstance(value, str) and not isinstance(value, Markup) and not value.isprintable():
        return "".join(c if c.isprintable() or c in _SPACES else REPLACEMENT for c in value)
    return value


_CRITERIA = {
    "percent_successful_nodes": ("at least {} % of the nodes succeed",) * 2,
    "minimum_successful_nodes": ("at least {} nodes succeed", "at least {} node succeeds"),
    "maximum_failed_nodes": ("at most {} nodes fail", "at most {} node fails"),
}


def criterion(result: Mapping[str, Any]) -> str:
    """Return what a criterion asks for and what there is: `deploy: at least 2 nodes succeed; 1 did`."""
    asked = _CRITERIA.get(result["criterion"])
    needed = (
        asked[result["needed"] == 1].format(result["needed"]) if asked else f"{result['criterion']} {result['needed']}"
    )
    return f"{result['phase']}: {needed}; {str(result['actual']).replace('/', ' of ')} did"


_SHORT = {
    "percent_successful_nodes": "{} % needed, {}",
    "minimum_successful_nodes": "{} needed, {}",
    "maximum_failed_nodes": "{} may fail, {} did",
}


def short_criterion(result: Mapping[str, Any]) -> str:
    """Return a criterion that is met in few words, needed and actual: `deploy: 90 % needed, 4 of 4`."""
    asked = _SHORT.get(result["criterion"], f"{result['criterion']} {{}} needed, {{}}")
    return f"{result['phase']}: {asked.format(result['needed'], str(result['actual']).replace('/', ' of '))}"


_PHASES = (Phase.RELEASE, *GROUP_PHASES)


def by_phase(tasks: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return tasks in their order by nodes, those of one node in the order in which its phases are gone through."""
    ranks = {phase.value: rank for rank, phase in enumerate(_PHASES)}
    of_nodes = (list(rows) for _, rows in groupby(tasks, key=lambda task: task["name"]))
    return [task for rows in of_nodes for task in sorted(rows, key=lambda task: ranks.get(task["phase"], 0))]


def duration(seconds: float | None) -> str:
    """Return a duration as `4 s`, `3 min 20 s`, `2 h 5 min` or `3 d 4 h`."""
    if seconds is None:
        return NOTHING
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _two(whole // 60, "min", whole % 60, "s")
    if whole < 86_400:
        return _two(whole // 3600, "h", whole % 3600 // 60, "min")
    return _two(whole // 86_400, "d", whole % 86_400 // 3600, "h")


def _two(large: int, unit: str, small: int, smaller: str) -> str:
    return f"{large} {unit} {small} {smaller}" if small else f"{large} {unit}"


def moment(at: str | datetime | None) -> datetime | None:
    """Return a time that may be ISO 8601."""
    return datetime.fromisoformat(at) if isinstance(at, str) else at


def clock(at: str | datetime | None) -> str:
    """Return a time as an element that the page's script keeps telling the age of; without script it is in UTC.

    The zone stands once on the page, and in the headings of tables.
    """
    found = moment(at)
    if found is None:
        return NOTHING
    text = found.strftime("%Y-%m-%d %H:%M:%S")
    return Markup('<time datetime="{}" title="{} UTC" data-ago>{}</time>').format(found.isoformat(), text, text)


def due(at: str | datetime) -> str:
    """Return a time to come as an element that the page's script counts down; without script it is in UTC."""
    found = moment(at)
    assert found is not None
    text = found.strftime("%Y-%m-%d %H:%M:%S")
    return Markup('<time datetime="{}" title="{} UTC" data-until>at {}</time>').format(found.isoformat(), text, text)


def clock_of(seconds: float | None) -> str:
    """Return the same of a time in seconds, as the states of nodes have it."""
    return clock(None if seconds is None else datetime.fromtimestamp(seconds, UTC))


def minute(at: datetime) -> str:
    """Return a time to come, in UTC: `2026-03-02 12:00`."""
    return at.strftime("%Y-%m-%d %H:%M")


def elapsed(start: str | datetime | None, end: str | datetime | None, now: datetime, idle: float = 0.0) -> str:
    """Return how long something took; where it has no end, an element that the page's script keeps counting.

    `idle` is how many seconds of that nobody was at work on it.
    """
    began, ended = moment(start), moment(end)
    if began is None:
        return NOTHING
    began += timedelta(seconds=idle)
    text = duration(((ended or now) - began).total_seconds())
    if ended is not None:
        return text
    return Markup('<time datetime="{}" data-since>{}</time>').format(began.isoformat(), text)


def number(count: int) -> str:
    """Return a number with a thin space between thousands."""
    return f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def counted(count: int, noun: str) -> str:
    """Return `1 node` or `2 nodes`."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def symbol(status: str | None) -> str:
    """Return the character that stands for a status."""
    return UNRECORDED_SYMBOL if status is None else status_from(status).symbol


@lru_cache(maxsize=64)
def badge(status: str | None, serves: str = Serves.NOTHING) -> Markup:
    """Return a status as symbol and word: the colour says nothing that they do not.

    Parameters
    ----------
    serves : what a node serves meanwhile; it matters where the status is pending.
    """
    # A word that nobody knows is undefined (rule 27).
    kind = "unrecorded" if status is None else status_from(status).value
    word = "not recorded" if status is None else kind
    if status == Status.PENDING and serves != Serves.NOTHING:
        meanwhile = Serves(serves)
        return Markup(
            '<span class="badge s-{}" data-serves="{}"><span aria-hidden="true">{}</span> {}, serves {}</span>'
        ).format(kind, meanwhile.value, meanwhile.symbol, word, meanwhile.value)
    return Markup('<span class="badge s-{}"><span aria-hidden="true">{}</span> {}</span>').format(
        kind, symbol(status), word
    )


def entry_badge(entry: Entry) -> Markup:
    """Return the status of an entry of the tree of a site in the same way."""
    return badge(entry.status, entry.serving.of_status(entry.status) if entry.serving else Serves.NOTHING)


def reported_leaves(tree: StatusTree, below: str = "") -> dict[str, Any]:
    """Return what reporters say in a tree, the worst first, and how many more there are.

    Parameters
    ----------
    below : a path; only the leaves of its entry and of all below that. "": all.
    """
    found = tree.reports.all(below)
    leaves = [
        {
            "name": leaf.name,
            "place": place,
            "owner": leaf.owners[0].name if leaf.owners else "",
            "status": leaf.status,
            # A message names its leaf, which stands beside it here.
            "message": "; ".join(text.removeprefix(f"{leaf.name}: ") for text in leaf.messages),
            "last_updated": leaf.last_updated,
        }
        for place, leaf in found[:LEAVES_SHOWN]
    ]
    return {"leaves": leaves, "more": len(found) - len(leaves)}


def segment(text: object) -> str:
    """Return a text as one segment of a path."""
    return _quoted(str(text))


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    return quote(text, safe="")
