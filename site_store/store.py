"""The store as all other rooms see it: one object with a repository for each noun."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from site_store.actions.actions import Actions
from site_store.actions.approvals import Approvals
from site_store.actions.site_locks import SiteLocks
from site_store.actions.steps import Steps
from site_store.actions.wishes import Wishes
from site_store.designs.buffers import Buffers
from site_store.designs.objects import Objects
from site_store.designs.revisions import Revisions
from site_store.designs.secret_texts import SecretTexts
from site_store.designs.site_stops import SiteStops
from site_store.designs.sites import SiteGroups, Sites
from site_store.groups.groups import Groups
from site_store.groups.reports import Reports
from site_store.groups.waits import Questions, Waits
from site_store.node_table.site_nodes import SiteNodes
from site_store.node_table.state_table import StateTable
from site_store.nodes.drifts import Drifts
from site_store.nodes.goals import Goals
from site_store.nodes.node_errors import NodeErrors
from site_store.nodes.node_reports import NodeReports
from site_store.nodes.node_troubles import NodeTroubles
from site_store.nodes.nodes import Nodes
from site_store.nodes.provisioner_lists import ProvisionerLists, SharedLists
from site_store.nodes.repair_switches import RepairSwitches
from site_store.nodes.repairs import Repairs
from site_store.nodes.site_views import SiteViews
from site_store.nodes.state_counts import StateCounting
from site_store.nodes.user_states import UserStates
from site_store.operations.operation_rows import Orphans
from site_store.operations.operations import Operations
from site_store.operations.tasks import Tasks
from site_store.restoring import Restoring
from site_store.sql import schema_version
from site_store.sql.address import resolve
from site_store.sql.database import Database, one_moment
from site_store.sql.errors import StoreError
from site_store.sql.home import Home
from site_store.sql.schema_version import PendingUpgrade
from site_store.sql.sealing import read_keys
from site_store.status.counting import Counts
from site_store.status.events import Events
from site_store.status.leases import Checks, Leases
from site_store.status.metrics import Metrics
from site_store.status.object_changes import ObjectChanges
from site_store.status.outbox import Outbox
from site_store.status.owners import Owners, Watches
from site_store.status.processes import Processes
from site_store.status.reporters import Reporters
from site_store.trees.plan_facts import PlanFactsOfSites
from site_store.trees.site_cards import PublishedViews, SiteCards
from site_store.trees.trees import Trees
from strategy_lib.actors import Access, Actor, may

T = TypeVar("T")

WRITES: Mapping[str, Mapping[str, Access]] = {
    "revisions": dict.fromkeys(("commit", "add_candidate", "remove_candidate"), Access.WRITE_DESIGN),
    "secret_texts": dict.fromkeys(("rotate_common", "rotate_next"), Access.WRITE_DESIGN),
    "buffers": dict.fromkeys(("put", "discard"), Access.WRITE_DESIGN),
    "user_states": {"change": Access.WRITE_DESIGN},
    "repair_switches": dict.fromkeys(("stop", "resume"), Access.WRITE_DESIGN),
    "restoring": {"settle": Access.WRITE_DESIGN},
    "site_stops": dict.fromkeys(("put", "remove_site"), Access.WRITE_DESIGN),
    "wishes": {"touch": Access.TOUCH},
}
"""The methods that write what is wanted, by a design or by an administrator; all other writes are feedback."""


class _Limited:
    """A repository without the methods that an actor may not call (rule 41): to look one up is refused.

    It guards against mistakes, such as work that changes its own goal, and not against malice: code that runs in this
    process can reach the database.
    """

    def __init__(self, repository: object, actor: Actor, refused: Mapping[str, Access]) -> None:
        self._repository, self._actor, self._refused = repository, actor, refused

    def __getattr__(self, name: str) -> Any:
        if name in self._refused:
            _refuse(self._actor, self._refused[name])
        return getattr(self._repository, name)


class ReadOnly(Database):
    """The same database, in which nothing can be written."""

    def __init__(self, database: Database, actor: Actor) -> None:
        self.__dict__.update(vars(database))
        self._actor = actor

    def write_at(self, work: Callable[..., T]) -> T:
        """Refuse it (`StoreError`)."""
        _refuse(self._actor, Access.WRITE_FEEDBACK)


class _Touches(_Limited):
    """Wishes that can be read; written is `touch` alone, of what is named: `node` for all nodes, or `node/<name>`."""

    def __init__(self, readable: Wishes, touch: Callable[..., dict[str, int]], touches: Collection[str]) -> None:
        super().__init__(readable, Actor.WATCHER, {})
        self._touch, self._named = touch, frozenset(touches)

    def touch(self, site: str, nodes: Collection[str], user: str) -> dict[str, int]:
        """Ask for nodes again, as `Wishes.touch` does. Raises `StoreError`: they are not all named."""
        if "node" not in self._named and not all(f"node/{name}" in self._named for name in nodes):
            raise StoreError("a watcher may touch only what it names: name these nodes in its `touches`")
        return self._touch(site, nodes, user)


def limited(
    repositories: Mapping[str, Any], actor: Actor, touch: Callable[..., dict[str, int]], touches: Collection[str]
) -> dict[str, Any]:
    """Return those of a store's repositories that an actor is given otherwise than they are.

    Parameters
    ----------
    repositories : by name; of a `ReadOnly` database for one that may not write feedback.
    touch, touches : what asks for nodes again, and what a watcher names to touch.
    """
    given: dict[str, Any] = {}
    for name, methods in WRITES.items():
        refused = {method: access for method, access in methods.items() if not may(actor, access)}
        if refused:
            given[name] = _Limited(repositories[name], actor, refused)
    if actor is Actor.WATCHER:
        given["wishes"] = _Touches(repositories["wishes"], touch, touches)
    return given


def _refuse(actor: Actor, access: Access) -> NoReturn:
    raise StoreError(f"a {actor} may not {access.replace('_', ' the ')}: leave that to a person or a commit")


class SiteStore:
    """All facts about sites and what is done to them, in one repository for each noun.

    It may be used by several threads and after a fork, and can be used as a context manager. Whatever goes wrong is a
    `StoreError`; after `StoreUnavailable` the call may be repeated, since every method that decides something is safe
    to repeat.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.sites = Sites(database)
        self.site_stops = SiteStops(database)
        self.revisions = Revisions(database)
        self.buffers = Buffers(database)
        self.secret_texts = SecretTexts(database)
        self.nodes = Nodes(database)
        self.objects = Objects(database)
        self.object_changes = ObjectChanges(database)
        self.goals = Goals(database)
        self.plan_facts = PlanFactsOfSites(database)
        self.node_errors = NodeErrors(database)
        self.node_reports = NodeReports(database)
        self.wishes = Wishes(database)
        self.locks = SiteLocks(database)
        self.actions = Actions(database)
        self.steps = Steps(database)
        self.reports = Reports(database)
        self.groups = Groups(database)
        self.approvals = Approvals(database)
        self.tasks = Tasks(database)
        self.operations = Operations(database)
        self.questions = Questions(database)
        self.orphans = Orphans(database)
        self.events = Events(database)
        self.leases = Leases(database)
        self.checks = Checks(database)
        self.owners = Owners(database)
        self.watches = Watches(database)
        self.processes = Processes(database)
        self.metrics = Metrics(database)
        self.reporters = Reporters(database)
        self.outbox = Outbox(database)
        self.provisioner_lists = ProvisionerLists(database)
        self.shared_lists = SharedLists(database)
        self.trees = Trees(database)
        self.site_nodes = SiteNodes(database)
        self.site_cards = SiteCards(database)
        self.counts = Counts(database)
        self.site_groups = SiteGroups(database)
        self.waits = Waits(database)
        self.user_states = UserStates(database)
        self.state_counts = StateCounting(database)
        self.site_views = SiteViews(database)
        self.published_views = PublishedViews(database)
        self.drifts = Drifts(database)
        self.repairs = Repairs(database)
        self.repair_switches = RepairSwitches(database)
        self.node_troubles = NodeTroubles(database)
        self.state_table = StateTable(database)
        self.restoring = Restoring(database)
        self.home = Home(database)

    @classmethod
    def open(
        cls,
        url: str | None = None,
        now: Callable[[], datetime] | None = None,
        actor: Actor | None = None,
        touches: Collection[str] = (),
        idle_seconds: float | None = None,
    ) -> SiteStore:
        """Open the store.

        Parameters
        ----------
        url : its database; None: `SLIPWAY_DATABASE_URL`, else that of the `slipway up` in `SLIPWAY_HOME` or `.slipway`.
        actor : whose store it is: it lacks what that may not do (rule 41). None: a person's, or that of a commit.
        touches : what a watcher names to touch: `node` for all nodes, or `node/<name>`.
        now : the clock of tests, in aware times. None: the machine's, and the database's where machines compare times.
        idle_seconds : a transaction whose process is silent for so long is ended, as far as the database can do that:
            who holds a lease, and is frozen, must not hold up the one who follows.

        Raises
        ------
        StoreNotConfigured : no usable database is named, or what is named as its keys is none.
        SchemaNotCurrent : the database must first be brought to this version's schema: `slipway store upgrade`.
        StoreUnavailable : the database could not be reached.
        """
        database = Database(resolve(url), now, idle_seconds=idle_seconds, keys=read_keys(url))
        try:
            schema_version.check(database)
        except BaseException:
            database.close()
            raise
        store = cls(database)
        if actor is None:
            return store
        own = store if may(actor, Access.WRITE_FEEDBACK) else cls(ReadOnly(database, actor))
        vars(own).update(limited(vars(own), actor, store.wishes.touch, touches))
        return own

    @staticmethod
    def upgrade(url: str | None = None) -> str:
        """Create the store's tables, or bring them to this version's schema. Safe when two do it at once.

        Returns
        -------
        str
            What was done, in a sentence.

        Raises
        ------
        StoreNotConfigured : no usable database is named, or what is named as its keys is none.
        SchemaNotCurrent : the database belongs to a newer version of Slipway.
        StoreUnavailable : the database could not be reached.
        """
        database = Database(resolve(url), bounded=False, keys=read_keys(url))
        try:
            return schema_version.upgrade(database)
        finally:
            database.close()

    @staticmethod
    def pending_upgrade(url: str | None = None) -> PendingUpgrade | None:
        """Return what `upgrade` would do, and who is at work; None: nobody can be, or nothing would be done.

        Raises as `upgrade` does.
        """
        database = Database(resolve(url))
        try:
            return schema_version.pending(database)
        finally:
            database.close()

    def check(self) -> None:
        """Make sure that it can be used now. Raises `SchemaNotCurrent` or `StoreUnavailable`, as for `open`."""
        schema_version.check(self._database)

    @property
    def location(self) -> str:
        """The database in words, without its password."""
        return self._database.name

    def now(self) -> datetime:
        """Return the time of the database, which is that of `created` and of leases."""
        return self._database.read(self._database.shared_time)

    @contextmanager
    def at_one_moment(self) -> Iterator[SiteStore]:
        """Give a store that reads all in one snapshot, for an answer that reads more than once; in one thread.

        Nobody else is to be waited for meanwhile: it keeps a connection. Raises `StoreUnavailable`.
        """
        with one_moment(self._database) as moment:
            yield SiteStore(moment)

    def close(self) -> None:
        """Close the idle connections."""
        self._database.close()

    def __enter__(self) -> SiteStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
