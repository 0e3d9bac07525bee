"""What status trees are judged from: the roll-up with the facts beside it, and the leaves that are asked for.

Each view is of one snapshot, and takes at most two statements; a third where groups go in batches. What of it is shown,
`site_engine` judges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row

from site_store.actions.action_rows import action_record
from site_store.nodes.nodes import node_row
from site_store.sql.database import Repository
from site_store.sql.errors import no_action
from site_store.sql.home import why_held
from site_store.sql.rows import json_list, listed, moment, moment_or_none
from site_store.status.owner_queries import owners_by_name, owners_of_site, site_token, watched_from
from site_store.status.status_records import ApprovalRecord, ReportedLeaf, StatusCount
from site_store.trees.leaf_queries import (
    MOST_TROUBLES,
    TROUBLED,
    Troubles,
    leaf_page,
    leaf_pages,
    site_troubles,
    worst_leaves,
    worst_nodes,
)
from site_store.trees.tree_facts import (
    ActionBrief,
    ActionFacts,
    FirstTroubles,
    GroupFacts,
    KnownAction,
    KnownSite,
    LeafFacts,
    LeafPage,
    SiteFacts,
    Times,
)
from site_store.trees.tree_queries import (
    action_query,
    action_token_query,
    known_site_query,
    newest_query,
    site_token_query,
    sites_query,
)
from site_store.trees.tree_rows import (
    action_facts,
    counts_of,
    leaf_facts,
    site_group_facts,
    token_of_action,
    with_groups,
)
from strategy_lib.phase import NODE_STEPS
from strategy_lib.status.node_row import NodeRow


class _ActionRow(NamedTuple):
    """What is read of one action beside its leaves."""

    row: Row[*tuple[Any, ...]]
    groups: Sequence[GroupFacts]
    counts: Sequence[StatusCount]
    touched: int

    def present(self, statuses: Collection[str]) -> list[str]:
        """Return those that some task has: others need not be looked for among all of them."""
        there = {cell.status for cell in self.counts if not cell.group}
        return [status for status in statuses if status in there]

    def page(self, found: Sequence[LeafFacts], limit: int) -> LeafPage:
        """Return a page of leaves, of which one more was read where there are more."""
        last = found[limit - 1] if len(found) > limit else None
        facts = action_facts(*self, found[:limit], moment(self.row.now))
        return LeafPage(facts, (last.node, last.group, last.phase) if last is not None else None)


class Trees(Repository):
    """Facts for status trees."""

    def known_action(self, action_id: str) -> KnownAction:
        """Return an action and its change token, in one statement.

        The token is another one after each change, and when an owner comes or goes.

        Raises `NotFound`: no action has this id.
        """
        found = self._with_tokens(action_id)
        if not found:
            raise no_action(action_id)
        return found[0]

    def actions_of_run(self, run_id: str) -> list[KnownAction]:
        """Return the actions whose DAG run has this id, each with its change token: of several DAGs there may be more.

        It takes one statement.
        """
        return self._with_tokens(run_id, by_run=True)

    def _with_tokens(self, key: str, *, by_run: bool = False) -> list[KnownAction]:
        def token(row: Row[*tuple[Any, ...]]) -> str:
            owners, now = owners_by_name(row.owners), moment(row.now)
            return token_of_action(row.changes, row.committed, owners, now, row.hold)

        def asked(row: Row[*tuple[Any, ...]]) -> list[ApprovalRecord]:
            return [listed(ApprovalRecord, item, row.id) for item in json_list(row.asked)]

        def work(tx: Connection) -> list[KnownAction]:
            rows = tx.execute(action_token_query(by_run=by_run), {"key": key})
            return [KnownAction(action_record(row), token(row), asked(row)) for row in rows]

        return self._database.read_once(work)

    def site_token(self, site: str) -> str:
        """Return the change token of a site's standing view; also the beginning and end of its actions change it."""

        def work(tx: Connection) -> str:
            row = tx.execute(site_token_query(), {"site": site}).one()
            return _site_token(row, row.changes, moment(row.now))

        return self._database.read_once(work)

    def known_site(self, site: str) -> KnownSite:
        """Return the same with whether the site exists, and whether an action holds it; by one statement."""

        def work(tx: Connection) -> KnownSite:
            row = tx.execute(known_site_query(), {"site": site}).one()
            token = _site_token(row, row.changes, moment(row.now))
            return KnownSite(token, bool(row.known), bool(row.held))

        return self._database.read_once(work)

    def action(self, action_id: str, *, leaves: int = 0) -> ActionFacts:
        """Return what the tree of an action is judged from.

        Parameters
        ----------
        leaves : how many nodes of each group and phase are included, the worst first.

        Raises
        ------
        NotFound : no action has this id.
        """
        found = self.actions([action_id], leaves=leaves)
        if not found:
            raise no_action(action_id)
        return found[0]

    def actions(self, action_ids: Collection[str], *, leaves: int = 0) -> list[ActionFacts]:
        """Return the same of several actions, in the same statements, newest first; unknown ids are left out."""

        def work(tx: Connection) -> list[ActionFacts]:
            rows = self._action_rows(tx, action_ids)
            found: defaultdict[str, list[LeafFacts]] = defaultdict(list)
            if leaves:
                for row in tx.execute(worst_leaves(action_ids, leaves)):
                    found[row.action_id].append(leaf_facts(row))
            return [
                action_facts(row, groups, *counts_of(row.cells), found[row.id], moment(row.now)) for row, groups in rows
            ]

        return self._database.read(work)

    def newest_actions(self, site: str, dags: Collection[str], limit: int, before: str | None) -> list[ActionFacts]:
        """Return the same of the newest actions of a site, newest first, without nodes and in one snapshot.

        Parameters
        ----------
        dags : only actions of these DAGs.
        limit : how many at most.
        before : only those older than the action of this id, for the next page.
        """
        asked = {"site": site, "dags": list(dags), "most": limit} | ({} if before is None else {"before": before})

        def work(tx: Connection) -> list[ActionFacts]:
            rows = with_groups(tx, tx.execute(newest_query(before is not None), asked).all())
            return [action_facts(row, groups, *counts_of(row.cells), (), moment(row.now)) for row, groups in rows]

        return self._database.read(work)

    def group_nodes(
        self,
        action_id: str,
        group: str | None = None,
        phase: str | None = None,
        statuses: Collection[str] = (),
        limit: int = 100,
        after: tuple[str, str, str] | None = None,
    ) -> LeafPage:
        """Return a page of the nodes of an action as they stand under its groups, by name, group and phase.

        Parameters
        ----------
        group, phase : only those; None: all. Nodes of a step on nodes have the group "".
        statuses : only tasks with one of these stored statuses; none: all.
        limit : how many tasks at most.
        after : node, group and phase of the last one of the page before.

        Raises
        ------
        NotFound : no action has this id.
        """

        def work(tx: Connection) -> LeafPage:
            its = self._its_row(tx, action_id)
            wanted = its.present(statuses)
            found: list[LeafFacts] = []
            if wanted or not statuses:
                query = leaf_page(action_id, group, phase, wanted, after).limit(limit + 1)
                found = [leaf_facts(leaf) for leaf in tx.execute(query)]
            return its.page(found, limit)

        return self._database.read(work)

    def group_with_troubles(
        self,
        action_id: str,
        group: str,
        limit: int = 100,
        after: tuple[str, str, str] | None = None,
        statuses: Collection[str] = (),
        most: int = 0,
        *,
        whole: bool = False,
    ) -> tuple[LeafPage, list[LeafFacts]]:
        """Return a page of the nodes of a group of an action, and beside it the first of its nodes in trouble.

        Both are of one moment, and take one statement beside that of the action.

        Parameters
        ----------
        group, limit, after : as for `group_nodes`.
        statuses : the stored statuses that are trouble.
        most : how many tasks in trouble at most; 0: none are looked for.
        whole : the nodes in trouble are those of the whole action, and its facts have the spans of its operations. Of
            an action without tasks of a step on nodes none is looked for in the group "".

        Raises
        ------
        NotFound : no action has this id.
        """

        def work(tx: Connection) -> tuple[LeafPage, list[LeafFacts]]:
            its = self._its_row(tx, action_id, with_spans=whole)
            wanted = its.present(statuses) if most else []
            pages = []
            if not whole or any(cell.phase in NODE_STEPS for cell in its.counts):
                pages.append((False, leaf_page(action_id, group, None, (), after).limit(limit + 1)))
            if wanted:
                pages.append((True, leaf_page(action_id, None if whole else group, None, wanted, None).limit(most)))
            found: list[LeafFacts] = []
            troubled: list[LeafFacts] = []
            for leaf in tx.execute(leaf_pages(pages)) if pages else ():
                (troubled if leaf.is_troubled else found).append(leaf_facts(leaf))
            return its.page(found, limit), troubled

        return self._database.read(work)

    def site(self, site: str, *, nodes: int = 0) -> SiteFacts:
        """Return what the standing tree of a site is judged from; also of one that nothing is known of.

        Parameters
        ----------
        nodes : how many nodes of each group are included, the worst first.
        """
        return self._sites([site], nodes)[0]

    def sites(self, sites: Collection[str], *, troubles: bool = True) -> list[SiteFacts]:
        """Return the same of several sites, without nodes, in the same statements and in the order of the names.

        Parameters
        ----------
        troubles : with the first failed nodes of each group.
        """
        return self._sites(sites, 0, troubled=troubles) if sites else []

    def _sites(self, sites: Collection[str], nodes: int, *, troubled: bool = True) -> list[SiteFacts]:
        def work(tx: Connection) -> list[SiteFacts]:
            rows = {row.site: row for row in tx.execute(sites_query(len(sites) == 1), {"sites": list(sites)})}
            counts = {site: counts_of(row.cells) for site, row in rows.items()}
            found: list[tuple[str, NodeRow]] = []
            troubles: Troubles = {}
            if nodes:
                (site,) = sites
                found = [(item.under, node_row(item)) for item in tx.execute(worst_nodes(site, nodes)).all()]
                troubles[site] = _first(found)
            elif troubled:
                troubles = site_troubles(tx, sites, [cell for cells, _ in counts.values() for cell in cells])
            return [self._site(rows[site], *counts[site], troubles.get(site, {}), found) for site in sites]

        return self._database.read(work)

    def _site(
        self,
        row: Row[*tuple[Any, ...]],
        counts: Sequence[StatusCount],
        touched: int,
        troubles: Mapping[str, Sequence[FirstTroubles]],
        nodes: Sequence[tuple[str, NodeRow]],
    ) -> SiteFacts:
        now = moment(row.now)
        watched = watched_from(row.watched, now)
        groups = [site_group_facts(item) for item in json_list(row.groups)]
        return SiteFacts(
            token=_site_token(row, touched, now),
            read_at=now,
            site=row.site,
            committed=row.committed,
            done=row.done,
            owner=row.owner,
            running=next((listed(ActionBrief, item) for item in json_list(row.running)), None),
            last=next((listed(ActionBrief, item) for item in json_list(row.ended)), None),
            counts=counts,
            owners=owners_of_site(row.owners, watched),
            groups=sorted(groups, key=lambda group: group.position),
            reported=[listed(ReportedLeaf, item, row.site, "") for item in json_list(row.said)],
            nodes=nodes,
            troubles=troubles,
            last_updated=moment_or_none(row.last_updated),
            times={
                under: Times(moment_or_none(first), moment_or_none(last)) for under, first, last in json_list(row.times)
            },
            leased=bool(row.leased),
            watched=watched,
            behind_since=moment_or_none(row.behind_since),
            hold=why_held(row.hold),
        )

    def _its_row(self, tx: Connection, action_id: str, *, with_spans: bool = False) -> _ActionRow:
        rows = self._action_rows(tx, [action_id], with_spans=with_spans)
        if not rows:
            raise no_action(action_id)
        row, groups = rows[0]
        return _ActionRow(row, groups, *counts_of(row.cells))

    def _action_rows(
        self, tx: Connection, action_ids: Collection[str], *, with_spans: bool = False
    ) -> list[tuple[Row[*tuple[Any, ...]], Sequence[GroupFacts]]]:
        """Return the rows of actions, each with its groups in order."""
        return with_groups(tx, tx.execute(action_query(with_spans), {"action_ids": list(action_ids)}).all())


def _first(nodes: Iterable[tuple[str, NodeRow]]) -> defaultdict[str, list[FirstTroubles]]:
    """Return by group the first nodes of each status that is trouble, by name."""
    by_status: defaultdict[tuple[str, str], list[NodeRow]] = defaultdict(list)
    for under, one in nodes:
        if one.standing in TROUBLED:
            by_status[under, one.standing].append(one)
    found: defaultdict[str, list[FirstTroubles]] = defaultdict(list)
    for (under, standing), these in by_status.items():
        first = sorted(these, key=attrgetter("name"))[:MOST_TROUBLES]
        found[under].append(FirstTroubles(standing, [one.name for one in first], [one.error for one in first]))
    return found


def _site_token(row: Any, changes: Any, now: datetime) -> str:
    watched = watched_from(row.watched, now)
    return site_token(changes, owners_of_site(row.owners, watched), watched, now, row.hold)
