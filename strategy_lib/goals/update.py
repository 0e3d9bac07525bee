"""What an update has to do to each node: the difference between what is wanted and what was done (rules 21 and 37)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from strategy_lib.groups.waves import waves
from strategy_lib.outcome import NodeCondition

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
