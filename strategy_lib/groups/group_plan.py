"""What the plan of an action says of a group beyond its nodes: their order, what is redeployed and what is released."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import NOBODYS_DEPLOYMENT, REFUSED_BY_PREPARE
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


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """What comes before a group's prepare (rule 11).

    Attributes
    ----------
    release : names (sorted) of the nodes to release: what stands on them is destroyed.
    refused : for nodes that are neither released nor prepared: why.
    """

    release: tuple[str, ...]
    refused: Mapping[str, str]


def plan_release(
    conditions: Mapping[str, NodeCondition], left_by_us: Mapping[str, NodeCondition], kept: Collection[str] = ()
) -> ReleasePlan:
    """Decide which nodes are released before they are prepared (rule 11).

    A failed deployment is nobody's deployment, nor is one that a release has left to be written over. Any other state
    that prepare refuses may be somebody else's doing: such a node is released only when an operation of ours has left
    it in this very state.

    Parameters
    ----------
    conditions : what the provisioner's list of nodes says of the nodes that are about to be prepared.
    left_by_us : how our own operation left the nodes whose newest operation it is, as far as it got to deploying them,
        is over without success, and nothing else was seen of them since.
    kept : nodes of groups that want theirs as they are (`release_failed: false`), whichever group sends them.
    """
    release: list[str] = []
    refused: dict[str, str] = {}
    for name, condition in sorted(conditions.items()):
        if condition not in REFUSED_BY_PREPARE:
            continue
        if name in kept:
            refused[name] = "the provisioner refuses to prepare it, and its group has release_failed: false"
        elif condition in NOBODYS_DEPLOYMENT or left_by_us.get(name) is condition:
            release.append(name)
        else:
            refused[name] = "it cannot be prepared so, and no deployment of ours left it so: it may be somebody else's"
    return ReleasePlan(tuple(release), refused)
