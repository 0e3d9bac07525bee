"""What a person may set for nodes, safely or by force, and which actions leave such nodes out (rules 51, 52 and 54)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from strategy_lib.node_states.generated import USER, NodeAvailability
from strategy_lib.phase import Phase
from strategy_lib.strategy import SuccessCriteria
from strategy_lib.verdict import evaluate

_A = NodeAvailability


@dataclass(frozen=True, slots=True)
class UserState:
    """What a person, or the controller in a person's place, has set for a node.

    `until`: when it ends by itself, in seconds of the caller's clock; None: never.
    """

    state: NodeAvailability = _A.UP
    reason: str = ""
    until: float | None = None

    def at(self, now: float) -> UserState:
        """Return what is in force at this time."""
        return UserState() if self.until is not None and now >= self.until else self


@dataclass(frozen=True, slots=True)
class GuardedGroup:
    """A group as the safe conditions see it."""

    name: str
    nodes: frozenset[str]
    critical: bool = False
    criteria: SuccessCriteria | None = None


@dataclass(frozen=True, slots=True)
class SiteView:
    """The facts that safe changes are judged by.

    Attributes
    ----------
    groups : all groups of the site.
    user : the user states in force, of nodes that are not simply up.
    reported : what was reported of each node.
    serving : nodes that count as successful for the criteria of their groups now.
    empty : nodes that the provisioner shows nothing on.
    busy : node to the action that works on it.
    unseen : nodes that were not seen since the present version was published.
    max_groups_in_maintenance : how many groups may have user states at once.
    """

    groups: Sequence[GuardedGroup] = ()
    user: Mapping[str, UserState] = field(default_factory=dict)
    reported: Mapping[str, NodeAvailability] = field(default_factory=dict)
    serving: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    busy: Mapping[str, str] = field(default_factory=dict)
    unseen: frozenset[str] = frozenset()
    max_groups_in_maintenance: int = 1


@dataclass(frozen=True, slots=True)
class Change:
    """The answer to a request: whether it is carried out, and what speaks against it (by force: what is overridden)."""

    modified: bool
    objections: tuple[str, ...] = ()


def set_user_state(
    site: SiteView, nodes: Collection[str], wanted: UserState, *, force: bool = False, leading: bool = True
) -> Change:
    """Judge a request to set the user state of nodes, all of them or none.

    Parameters
    ----------
    site : the facts.
    nodes : one node, a group or a rack.
    wanted : the state and the reason.
    force : carry it out whatever speaks against it.
    leading : a controller leads the site and has seen its nodes. While none does, safe changes are refused, except
        retired, which is always allowed (rule 52).

    Raises
    ------
    ValueError : when the state is not one that a person may want.
    """
    if wanted.state not in USER:
        raise ValueError(f"{wanted.state!r} cannot be wanted by a user: {', '.join(sorted(USER))}")
    objections = [] if leading or wanted.state is _A.RETIRED else ["no controller has seen all nodes yet"]
    for name in sorted(nodes):
        objections += [f"{name}: {why}" for why in _objections_to_node(site, name, wanted)]
    if wanted.state is _A.MAINTENANCE:
        objections += _objections_to_maintenance(site, frozenset(nodes))
    return Change(modified=force or not objections, objections=tuple(objections))


def left_out(kind: str, user: UserState | None, by: str = "the user") -> str | None:
    """Return why an action of this kind leaves a node out, None where it does not (rules 51 and 52).

    It holds as soon as the user state is set, published or not (rule 54), and no override of an action lifts it.

    Parameters
    ----------
    by : who set it.
    """
    if user is None or user.state is _A.UP:
        return None
    if kind == Phase.DESTROY and user.state in (_A.RETIRED, _A.DOWN):
        return None
    return f"set to {user.state} by {by}" + (f": {user.reason}" if user.reason else "")


def not_serving(users: Mapping[str, UserState]) -> frozenset[str]:
    """Return the nodes that serve nobody, whatever is deployed on them: they were taken out of use.

    Retired nodes still do: they are taken away when they are destroyed (rules 51 and 52).
    """
    return frozenset(name for name, user in users.items() if user.state in (_A.MAINTENANCE, _A.DOWN))


def _objections_to_node(site: SiteView, name: str, wanted: UserState) -> list[str]:
    present = site.user.get(name, UserState())
    empty = name in site.empty
    if wanted.state is _A.UP:
        if site.reported.get(name) is _A.UP or empty:
            return []
        return [f"it reports {site.reported.get(name) or 'nothing'}, and something may be deployed on it"]
    if wanted.state is _A.DOWN:
        found = [] if present.state is _A.RETIRED else [f"it is {present.state}, and only a retired node is set down"]
        return found if empty else [*found, "something is deployed on it"]
    if wanted.state is _A.RETIRED:
        return []
    found = []
    if present.state is not _A.UP and (present.state, present.reason) != (wanted.state, wanted.reason):
        found.append(f"it is set to {present.state} already: {present.reason or 'no reason given'}")
    if name in site.busy:
        found.append(f"action {site.busy[name]} works on it")
    if name in site.unseen:
        found.append("it was not seen since the present version")
    return found


def _too_many_groups(site: SiteView, nodes: frozenset[str]) -> str:
    """Say which bound of the site's settings it is, and of the nodes that are set one that the user can set up."""
    most = site.max_groups_in_maintenance
    setting = f"node_states.max_groups_in_maintenance is {most}"
    said = f"more than {most} group{'' if most == 1 else 's'} would have nodes that are set to another state than up"
    others = sorted(name for name, user in site.user.items() if user.state is not _A.UP and name not in nodes)
    if not others:
        return f"{said}: {setting}"
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    return f"{said}: {setting}, and {others[0]}{more} {'are' if more else 'is'} already"


def _objections_to_maintenance(site: SiteView, nodes: frozenset[str]) -> list[str]:
    found = []
    set_nodes = nodes | {name for name, user in site.user.items() if user.state is not _A.UP}
    members = {group.name: group.nodes for group in site.groups}
    if groups_around(members, set_nodes, site.max_groups_in_maintenance) > site.max_groups_in_maintenance:
        found.append(_too_many_groups(site, nodes))
    serving = site.serving - not_serving(site.user)
    for group in site.groups:
        # A group that loses no serving node is not worse off than before.
        if not group.critical or not group.nodes & nodes & serving:
            continue
        left = len((group.nodes & serving) - nodes)
        unmet = [each for each in evaluate(group.criteria, Phase.DEPLOY, len(group.nodes), left) if not each.met]
        found += [
            f"critical group {group.name}: {each.criterion} needs {each.needed}, {each.actual} would be"
            for each in unmet
        ]
    return found


def groups_around(members: Mapping[str, Collection[str]], nodes: Collection[str], most: int) -> int:
    """Return how many groups contain all these nodes: exact where one group does, and never fewer than are needed.

    The group with most of what is left is taken each time, until they are more than `most`. Nodes in no group count
    together as one group.
    """
    left = set(nodes)
    within = {name: left.intersection(members[name]) for name in sorted(members)}
    count = 0
    while left and count <= most:
        largest = max(within.values(), key=len, default=set[str]())
        left = left - largest if largest else set()
        within = {name: rest for name, held in within.items() if (rest := held - largest)}
        count += 1
    return count
