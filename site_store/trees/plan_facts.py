"""What the plan of a site uses beside what is wanted and done: read by one statement, and so of one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, select

from site_store.designs.sites import is_known, settings_column, settings_in
from site_store.nodes.provisioner_lists import left_column, left_words
from site_store.nodes.user_states import in_force, reasons_to_leave_out
from site_store.operations.operation_rows import newest_ended, usual_times
from site_store.sql.database import Repository
from site_store.sql.postgresql import clock, json_rows
from site_store.sql.rows import json_list
from site_store.status.status_records import ProvisionerListRecord
from site_store.tables import node, provisioner_list, user_state
from strategy_lib.parsing.site_settings import SiteSettings
from strategy_lib.phase import Phase

TIMED: Final = (Phase.PREPARE, Phase.DEPLOY)
"""Phases that tell how long a group takes."""
_SITE = bindparam("site", type_=node.c.site.type)


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What the plan of a site uses.

    Attributes
    ----------
    is_known : whether the site has a revision, a buffer or an action (`Sites.exists`).
    listed : the provisioner's list that was read last; None where none ever was.
    left : how operations that were over only after that have left their nodes (`ProvisionerLists.left_since`).
    out_of_use : the nodes that the action would leave out, each with the reason (`UserStates.left_out`).
    settings : the settings of the site (`Revisions.settings`).
    usual : how many seconds operations of `TIMED` phases take (`Operations.usual_seconds`).
    """

    is_known: bool
    listed: ProvisionerListRecord | None
    left: Mapping[str, str]
    out_of_use: Mapping[str, str]
    settings: SiteSettings
    usual: Mapping[Phase, float]


class PlanFactsOfSites(Repository):
    """What plans of sites use."""

    def get(self, site: str, kind: str) -> PlanFacts:
        """Return what the plan of an action of this kind on the whole site uses; also of one that is not known."""

        def work(tx: Connection) -> PlanFacts:
            row = tx.execute(_facts(), {"site": site}).one()
            listed = None
            if row.connection is not None:
                listed = ProvisionerListRecord(site, row.connection, row.read_at, row.nodes, row.digest)
            return PlanFacts(
                bool(row.known),
                listed,
                left_words(json_list(row.left)),
                reasons_to_leave_out(kind, json_list(row.users)),
                settings_in(row.settings),
                usual_times(json_list(row.ended)),
            )

        return self._database.read_once(work)


@cache
def _facts() -> Select[Any]:
    """Select the facts; a parameter: `site`."""
    here = select(_SITE.label("site")).subquery()
    ended = newest_ended(_SITE, TIMED).subquery()
    columns = (provisioner_list.c[name] for name in ("connection", "read_at", "nodes", "digest"))
    return select(
        *columns,
        is_known(_SITE).label("known"),
        left_column(_SITE, provisioner_list.c.read_at).label("left"),
        json_rows(in_force(clock()).where(user_state.c.site == _SITE)).label("users"),
        settings_column(_SITE),
        json_rows(select(*ended.c)).label("ended"),
    ).select_from(here.outerjoin(provisioner_list, provisioner_list.c.site == here.c.site))
