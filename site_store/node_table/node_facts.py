"""What is shown of the nodes of a site, and of the past of one: plain values, all of one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from site_store.records import EventRecord
from site_store.status.status_records import OwnerCheckIn, ReportedLeaf
from strategy_lib.node_states.repair import RepairMode
from strategy_lib.status.node_row import NodeRow

if TYPE_CHECKING:
    from site_store.node_table.state_query import NodeStateRow, StateNote
    from site_store.nodes.node_errors import NodeErrorRecord
    from strategy_lib.node_states.publication import Version


@dataclass(frozen=True, slots=True)
class NodeQuery:
    """Which nodes of a site are asked for, in which order.

    Attributes
    ----------
    group, rack, standing : only those; None: all. `group` may be "no group" or "to be removed". `standing` is the
        status that is shown: pending nodes whose owner is gone are unresponsive.
    text : only those whose name contains it.
    columns : only those where the column of this name (see `FILTERED_BY`) is so; of `node` and `error`, where it
        contains the text, whatever its case.
    sort : one of `node_query.SORTED_BY`; `descending` from its end. Nodes that are alike are sorted by name.
    limit : how many at most.
    after : what `NodePage.after` said; None: the first page.
    with_states : also what is published of each node, and what is set for it.
    """

    group: str | None = None
    rack: str | None = None
    standing: str | None = None
    text: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    sort: str = "node"
    descending: bool = False
    limit: int = 100
    after: str | None = None
    with_states: bool = False


@dataclass(frozen=True, slots=True)
class NodeStates:
    """What is published of a node, and what is set for it, each with its reason; None: nothing."""

    published: str | None
    published_why: str | None
    user: str | None
    user_why: str | None


@dataclass(frozen=True, slots=True)
class NodePage:
    """A page of nodes.

    `total`: how many the query finds in all, at most `MOST_COUNTED`. `after`: None: no more. `default_owner` is
    expected to work on nodes that name nobody; "" where that was never decided. `dag_id` is that of the run that is at
    work on the site, None where none is; `leased` is as in `SiteFacts`.
    """

    token: str
    read_at: datetime
    nodes: Sequence[NodeRow]
    total: int
    after: str | None
    owners: Mapping[str, OwnerCheckIn]
    default_owner: str = ""
    dag_id: str | None = None
    leased: bool = False
    states: Mapping[str, NodeStates] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodePast:
    """A node's task in one action, as it ended or stands.

    `found` is what the provisioner said of the node before. `tries` is the number of the present try in the action, and
    `round` that of the operation in its phase. `held` says for which other node it is held; `done_op` and
    `done_revision` are as in `LeafFacts`.
    """

    action_id: str
    kind: str
    revision: int | None
    state: str
    user: str
    created: datetime
    dry_run: bool
    phase: str
    groups: tuple[str, ...]
    owner_group: str | None
    owner: str | None
    status: str
    message: str | None
    fixed: str | None
    found: str | None
    op: int | None
    provisioner_task: str | None
    operation_status: str | None
    attempt: int | None
    started: datetime | None
    ended: datetime | None
    tries: int = 1
    round: int | None = None
    held: str | None = None
    done_op: int | None = None
    done_revision: int | None = None


@dataclass(frozen=True, slots=True)
class PastStates:
    """The three states of a node, and what was noted of them, the newest first.

    Attributes
    ----------
    states : None: the site is not about the node.
    judging : the newest published version, where groups may have taken nodes down in it.
    """

    states: NodeStateRow | None
    notes: Sequence[StateNote]
    judging: Version | None


class RepairFacts(NamedTuple):
    """What decides whether repair tries a node again: its site's mode, a switch that stops it, what is set for it."""

    mode: RepairMode
    stopped: bool
    user: str | None


@dataclass(frozen=True, slots=True)
class NodePastFacts:
    """What happened to a node, newest first, and how it stands. `before` is for the next page; None: no more.

    Attributes
    ----------
    node : None where nothing is stored of it (any more).
    committed : the newest revision of its site.
    events : what was noted of it: earlier attempts, late results, contradictions.
    reported : what reporters say of it, for its site (`action_id` is "") and in the actions of `tasks`.
    default_owner : is expected to work on it while it names nobody; "" where that was never decided.
    states : None where they were not asked for.
    """

    read_at: datetime
    owners: Mapping[str, OwnerCheckIn]
    node: NodeRow | None
    committed: int | None
    repair: RepairFacts
    tasks: Sequence[NodePast]
    events: Sequence[EventRecord]
    errors: Sequence[NodeErrorRecord]
    reported: Sequence[ReportedLeaf]
    before: str | None
    default_owner: str = ""
    states: PastStates | None = None
