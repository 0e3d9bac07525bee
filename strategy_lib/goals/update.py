"""What an update has to do to each node: the difference between what is wanted and what was done (rules 21 and 37).

And how a plan is said to people, on a page, in a terminal and in a report: words, values, and what shares a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from strategy_lib.groups.waves import waves
from strategy_lib.node_condition import NodeCondition

Entry = Mapping[str, Any]


class Change(StrEnum):
    """What has to be done to a node."""

    ADD = "add"
    CHANGE = "change"
    REDO = "redo"
    RELABEL = "relabel"
    REMOVE = "remove"
    NONE = "none"


TO_DO = frozenset({Change.ADD, Change.CHANGE, Change.REDO})
"""What an update prepares and deploys. New labels are given in place; a removal is asked for separately (`prune`)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a node: the version and digest of its design, and when a person asked for it again.

    `touched` is the wanted version at which that was; None: nobody did. `revision`: that brought the design, if known.
    """

    version: int
    digest: str
    touched: int | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What a node was last done for: the version and digest that were handed out with its operation.

    A digest that is None means that nothing was ever done: such a row may only carry `failed`. `doubt` says why what
    is recorded is not believed. `labels_alone`: the wanted digest differs from this one by its labels only, where that
    can be told. `revision`: the revision of the site that it was done for, if known.
    """

    version: int | None
    digest: str | None
    failed: bool = False
    doubt: str | None = None
    labels_alone: bool = False
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """What has to be done to a node, and why."""

    change: Change
    reason: str


def difference(wanted: Wanted | None, done: Done | None, condition: str | None) -> Difference:
    """Compare what is wanted of a node with what was done (rule 37): the first that fits decides.

    Parameters
    ----------
    wanted : None: the design does not have the node any more.
    done : None: nothing was ever done to it.
    condition : the provisioner's word for it. `deployed` is as it was left; None, or any other word, is not.
    """
    never_done = done is None or done.digest is None
    if wanted is None:
        return Difference(Change.REMOVE, "no longer in the design") if done else Difference(Change.NONE, "not wanted")
    if done is None or never_done:
        return Difference(Change.ADD, "listed twice" if condition == NodeCondition.LISTED_TWICE else "never done")
    deployed = condition == NodeCondition.DEPLOYED
    asked_again = wanted.touched is not None and (done.version is None or wanted.touched > done.version)
    # Who asked for the node again wants it deployed: new labels are not enough.
    if done.labels_alone and done.doubt is None and deployed and not asked_again:
        return Difference(Change.RELABEL, f"only labels differ: {_versions(done, wanted)}")
    if wanted.digest != done.digest:
        return Difference(Change.CHANGE, f"the design differs: {_versions(done, wanted)}")
    if done.doubt is not None:
        return Difference(Change.REDO, f"in doubt: {done.doubt}")
    if done.failed:
        return Difference(Change.REDO, f"failed at version {done.version}")
    if not deployed:
        return Difference(Change.REDO, f"not as it was left: {str(condition or 'not listed').replace('_', ' ')}")
    if asked_again:
        return Difference(Change.REDO, f"asked for again at version {wanted.touched}")
    return Difference(Change.NONE, f"as wanted since {_since(done)}")


def plan_update(
    wanted: Mapping[str, Entry],
    done: Mapping[str, Entry],
    conditions: Mapping[str, str],
    depends_on: Mapping[str, list[str]] | None = None,
) -> dict[str, Any]:
    """Say what an update would do to each node, in which order and why, from plain data to plain data.

    Parameters
    ----------
    wanted : node to `{"version": int, "digest": str, "touched": int}`; `touched`, optional, is the version at which a
        person asked for the node again.
    done : node to `{"version": int, "digest": str, "failed": bool}`, `failed` optional.
    conditions : node to the provisioner's word. A node without one is not deployed.
    depends_on : node to the nodes it depends on. Names that are neither wanted nor done are ignored.

    Returns
    -------
    dict
        `actions`: each node that is wanted or done to "add", "change", "redo", "remove" or "none". `order`: the waves
        of nodes to add, change or redo, names sorted, each node as early as possible after all it depends on, directly
        or through nodes with nothing to do. `reasons`: why, for each node of `actions`.

    Raises
    ------
    StrategyError : when nodes depend on each other in a cycle, also among nodes that have nothing to do.

    Examples
    --------
    >>> plan = plan_update({"n1": {"version": 2, "digest": "b"}}, {"n1": {"version": 1, "digest": "a"}}, {})
    >>> plan["actions"], plan["order"]
    ({'n1': 'change'}, [['n1']])
    """
    names = sorted({*wanted, *done})
    differences = {
        name: difference(_wanted(wanted.get(name)), _done(done.get(name)), conditions.get(name)) for name in names
    }
    to_do = {name for name, found in differences.items() if found.change in TO_DO}
    return {
        "actions": {name: found.change.value for name, found in differences.items()},
        "order": waves(differences, to_do, depends_on or {}),
        "reasons": {name: found.reason for name, found in differences.items()},
    }


def _versions(done: Done, wanted: Wanted) -> str:
    """Name both by the site's revisions, as its page does; by the node's versions where a revision is not known."""
    if done.revision is not None and wanted.revision is not None:
        return f"done for revision {done.revision}, wanted is revision {wanted.revision}"
    return f"done for version {done.version}, wanted is version {wanted.version}"


def _since(done: Done) -> str:
    return f"version {done.version}" if done.revision is None else f"revision {done.revision}"


def _wanted(entry: Entry | None) -> Wanted | None:
    return None if entry is None else Wanted(entry["version"], entry["digest"], entry.get("touched"))


def _done(entry: Entry | None) -> Done | None:
    return None if entry is None else Done(entry.get("version"), entry.get("digest"), bool(entry.get("failed")))


_ELSEWHERE = "…"
"""Stands in a reason for the name of each node of a row."""
_NAME = re.compile(r"\w(?:[\w.-]*\w)?")


class Deed(StrEnum):
    """What an action does with a node: each node of a plan has exactly one."""

    REDEPLOY = "redeploy"
    RELEASE = "release"
    REMOVE = "remove"
    DEPLOY = "deploy"
    LABEL = "label"
    LEAVE = "leave"
    WITHHOLD = "withhold"


ERASING = (Deed.REDEPLOY, Deed.RELEASE, Deed.REMOVE)
"""Deeds that erase a node: deployed anew, released (or destroyed) before it is prepared, and destroyed for good."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """Nodes of a plan of which the same is to be said.

    Attributes
    ----------
    why : with "…" in place of the name of each node, where there are several.
    allowed_by : what lets an action do it that leaves it alone; None where it does it, or nothing lets it.
    documents : those that differ, as the plan has them, the own document of each node without a name. None: not known.
    """

    deed: Deed
    change: Change
    why: str
    allowed_by: str | None
    nodes: tuple[str, ...]
    documents: tuple[Mapping[str, Any], ...] | None


def summary(deeds: Mapping[Deed, int]) -> str:
    """Return the line that a plan opens with: each node is in one of the counts."""
    erased = ", ".join(
        f"{deeds.get(deed, 0)} {word}"
        for deed, word in zip(ERASING, ("redeployed", "released first", "removed"), strict=True)
    )
    rest = (("deploys", Deed.DEPLOY), ("labels", Deed.LABEL), ("leaves", Deed.LEAVE), ("withholds", Deed.WITHHOLD))
    parts = [f"erases {sum(deeds.get(deed, 0) for deed in ERASING)} ({erased})"]
    return ", ".join([*parts, *(f"{word} {deeds.get(deed, 0)}" for word, deed in rest)])


def fold_nodes(nodes: Iterable[Mapping[str, Any]]) -> list[PlanRow]:
    """Return a row for nodes that a plan names, as its JSON has them; none for those that are as wanted."""
    rows: dict[tuple[Any, ...], tuple[list[str], PlanRow]] = {}
    for node in nodes:
        if node["deed"] == Deed.LEAVE:
            continue
        row = _row(node)
        # Documents may have lists in them, which cannot be looked up.
        alike = (row.deed, row.change, *_without_name(row), repr(row.documents))
        rows.setdefault(alike, ([], row))[0].append(node["name"])
    found = []
    for names, row in rows.values():
        if len(names) > 1:
            why, allowed_by = _without_name(row)
            row = replace(row, why=why, allowed_by=allowed_by, nodes=tuple(names))
        found.append(row)
    return found


def _without_name(row: PlanRow) -> tuple[str, str | None]:
    """Return why a row of one node is so, and what lets it be done, without the node's name."""
    (name,) = row.nodes

    def hide(text: str) -> str:
        return _NAME.sub(lambda found: _ELSEWHERE if found[0] == name else found[0], text) if name in text else text

    return hide(row.why), None if row.allowed_by is None else hide(row.allowed_by)


def _row(node: Mapping[str, Any]) -> PlanRow:
    why = node["withheld"] or node["reason"]
    if node["change"] == Change.REMOVE and node["withheld"]:
        why = f"{node['reason']}: {why}"
    if not node["groups"] and node["change"] in TO_DO and node["deed"] == Deed.WITHHOLD:
        why = f"{why}; it is in no group, so it is not submitted"
    documents = None
    if node["documents"] is not None:
        documents = tuple(
            {**each, "name": "" if each["name"] == node["name"] else each["name"]} for each in node["documents"]
        )
    return PlanRow(Deed(node["deed"]), Change(node["change"]), why, node["allowed_by"], (node["name"],), documents)


def document_lines(documents: Iterable[Mapping[str, Any]], longest: int) -> Iterator[str]:
    """Yield a line for each field of these documents that differs, with values of so many characters at most."""
    for document in documents:
        label = f"{document['schema'].split('/')[1]} {document['name'] or '(its own)'}"
        if not document["fields"]:
            yield f"{label}: {document['change']}"
        for field in document["fields"]:
            values = [value_text(field[side], longest) for side in ("from", "to") if side in field]
            yield f"{label} {field['path']}: {field['change']} {' -> '.join(values)}"


def value_text(value: object, longest: int) -> str:
    """Return a value of a document as text of so many characters at most."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def waits(edges: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, Sequence[str]]]:
    """Return who waits for whom: kind ("group" or "node"), the one that waits, and those that it waits for."""
    found: dict[tuple[str, str], list[str]] = {}
    for edge in edges:
        found.setdefault((edge["kind"], edge["later"]), []).append(edge["earlier"])
    return [(kind, later, earlier) for (kind, later), earlier in found.items()]
