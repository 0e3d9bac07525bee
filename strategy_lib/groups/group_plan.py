"""What the plan of an action says of the nodes of one group, beyond which they are: order, and what is redeployed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from strategy_lib.strategy import Group, Share, SuccessCriteria


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """How many nodes of a group that allows redeploys may be away: of the one that redeploys, or of another one.

    Attributes
    ----------
    group : its name.
    nodes : those of the nodes to redeploy that are in it.
    total, serving : how many nodes it has, and how many of them served when the plan was made.
    criteria, critical, max_unavailable : its own.
    theirs : its nodes that somebody else has: they serve nobody, and count against `max_unavailable`.
    failed : those of its nodes that are not back and will not be, or were never there.
    lost : those of them that served.
    """

    group: str
    nodes: frozenset[str]
    total: int
    serving: int
    criteria: SuccessCriteria | None = None
    critical: bool = False
    max_unavailable: Share | None = None
    theirs: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()

    def to_data(self) -> dict[str, Any]:
        """Return it as plain JSON values, without what has become of its nodes."""
        most = None if self.max_unavailable is None else self.max_unavailable.to_data()
        data = asdict(self) | {"nodes": sorted(self.nodes), "theirs": sorted(self.theirs), "max_unavailable": most}
        return {name: value for name, value in data.items() if name not in ("failed", "lost")}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> GroupBounds:
        """Read what `to_data` wrote."""
        criteria = None if data["criteria"] is None else SuccessCriteria(**data["criteria"])
        most = None if data["max_unavailable"] is None else Share.parse(data["max_unavailable"])
        sets = {name: frozenset(data.get(name, ())) for name in ("nodes", "theirs")}
        return cls(**{**data, **sets, "criteria": criteria, "max_unavailable": most})


def bounds_of(
    group: Group,
    members: Collection[str],
    redeploy: Collection[str],
    serving: Collection[str],
    theirs: Collection[str] = (),
) -> GroupBounds:
    """Return what a group says of those of its members that another group redeploys."""
    here = frozenset(members)
    return GroupBounds(
        group.name,
        here.intersection(redeploy),
        len(here),
        len(here.intersection(serving)),
        group.criteria,
        group.critical,
        group.max_unavailable,
        here.intersection(theirs),
    )


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The order of a group's nodes, and those that are brought to a new design.

    Attributes
    ----------
    waits_for : node of the group to the nodes that it waits for, in whatever group (rule 39).
    met : those of them that are in no group of the action, and are done as wanted.
    redeploy : nodes that serve in another design, and are to be destroyed, prepared and deployed, in batches.
    serving : nodes that serve, in whatever design, when the plan is made.
    later : nodes that serve in another design, and are redeployed by a later group: this one leaves them alone.
    bounds : what other groups say of the nodes to redeploy.
    after : groups that are judged before this one, because its nodes wait for nodes of theirs.
    theirs : nodes that somebody else has, where there are any to redeploy.
    """

    waits_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    met: frozenset[str] = frozenset()
    redeploy: frozenset[str] = frozenset()
    serving: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
    bounds: tuple[GroupBounds, ...] = ()
    after: tuple[str, ...] = ()
    theirs: frozenset[str] = frozenset()

    @property
    def named(self) -> frozenset[str]:
        """The nodes that others of the group wait for."""
        return frozenset[str]().union(*frozenset(self.waits_for.values()))

    def to_data(self) -> dict[str, Any] | None:
        """Return it as plain JSON values; None where there is nothing to say."""
        lists: dict[tuple[str, ...], list[str]] = {}
        for name, others in self.waits_for.items():
            lists.setdefault(others, []).append(name)
        data = {
            # Thousands of nodes wait for the same few.
            "waits_for": [[sorted(names), list(others)] for others, names in sorted(lists.items())],
            "met": sorted(self.met),
            "redeploy": sorted(self.redeploy),
            "serving": sorted(self.serving) if self.redeploy else [],
            "later": sorted(self.later),
            "bounds": [bounds.to_data() for bounds in self.bounds],
            "after": list(self.after),
            "theirs": sorted(self.theirs),
        }
        return {name: value for name, value in data.items() if value} or None

    @classmethod
    def from_data(cls, data: Mapping[str, Any] | None) -> GroupPlan:
        """Read what `to_data` wrote."""
        if not data:
            return NO_PLAN
        waits_for = {name: tuple(others) for names, others in data.get("waits_for", ()) for name in names}
        return cls(
            waits_for,
            frozenset(data.get("met", ())),
            frozenset(data.get("redeploy", ())),
            frozenset(data.get("serving", ())),
            frozenset(data.get("later", ())),
            tuple(GroupBounds.from_data(bounds) for bounds in data.get("bounds", ())),
            tuple(data.get("after", ())),
            frozenset(data.get("theirs", ())),
        )


NO_PLAN = GroupPlan()


def plan_of_group(
    nodes: Collection[str],
    edges: Mapping[str, tuple[str, ...]],
    met: Collection[str] = (),
    redeploy: Collection[str] = (),
    serving: Collection[str] = (),
    later: Collection[str] = (),
    theirs: Collection[str] = (),
) -> GroupPlan:
    """Return what is said of these nodes, of what is known of all nodes of an action.

    Parameters
    ----------
    edges : node to the nodes it waits for, of the whole site.
    met : nodes outside the action that are done as wanted.
    redeploy, serving : nodes of the whole action.
    later : nodes that a later group redeploys.
    theirs : nodes that somebody else has.
    """
    if not edges and not redeploy and not later:
        return NO_PLAN
    waits_for = {name: edges[name] for name in nodes if name in edges}
    named = frozenset[str]().union(*frozenset(waits_for.values()))
    members = frozenset(nodes)
    again = members.intersection(redeploy)
    serve = members.intersection(serving) if again else frozenset[str]()
    others = members.intersection(theirs) if again else frozenset[str]()
    return GroupPlan(waits_for, named.intersection(met), again, serve, members.intersection(later), theirs=others)
