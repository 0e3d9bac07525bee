"""The states of a node as columns of the statement that reads its past, and what they are as values."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, exists, select

from site_store.node_states.repair_switches import ALL_SITES
from site_store.node_states.user_states import in_force
from site_store.node_table.node_facts import PastStates, RepairFacts
from site_store.node_table.state_rows import is_there, state_columns, state_note, state_notes, state_row, with_states
from site_store.sql.postgresql import clock, json_rows
from site_store.sql.rows import json_list, json_value
from site_store.tables import event, node, repair_switch, site_view, user_state
from site_store.trees.site_cards import newest_settings
from strategy_lib.node_states.publication import Version
from strategy_lib.parsing.site_settings import DEFAULT_SETTINGS, SiteSettings, parse_site_settings

_SITE = bindparam("site", type_=node.c.site.type)
_NAME = bindparam("name", type_=node.c.name.type)


def past_columns(given_clock: bool) -> list[ColumnElement[Any]]:
    """Return columns as `past_states` reads them, beside those of `repair_columns`.

    Further parameters of the statement: `most_notes`; `now` where a clock of tests is given.
    """
    now = bindparam("now", type_=user_state.c.until.type) if given_clock else clock()
    states = select(*state_columns()).select_from(with_states(node, now))
    states = states.where(node.c.site == _SITE, node.c.name == _NAME, is_there).correlate(None)
    notes = state_notes(_SITE, _NAME, bindparam("most_notes", type_=event.c.id.type)).subquery()
    newest = select(site_view.c.epoch, site_view.c.number).where(site_view.c.site == _SITE)
    return [
        json_rows(states).label("states"),
        json_rows(select(*notes.c)).label("notes"),
        json_rows(newest).label("newest"),
    ]


def past_states(row: Row[*tuple[Any, ...]]) -> PastStates:
    """Return the columns of `past_columns`."""
    newest = next((Version(*version) for version in json_list(row.newest)), None)
    judge = _settings(row).min_available_percent > 0
    return PastStates(
        states=next((state_row(item) for item in json_list(row.states)), None),
        notes=[state_note(item) for item in sorted(json_list(row.notes), reverse=True)],
        judging=newest if judge else None,
    )


def repair_columns(given_clock: bool) -> list[ColumnElement[Any]]:
    """Return columns as `repair_facts` reads them. A parameter: `now` where a clock of tests is given."""
    now = bindparam("now", type_=user_state.c.until.type) if given_clock else clock()
    settings = newest_settings(_SITE).subquery()
    held = in_force(now).where(user_state.c.site == _SITE, user_state.c.node == _NAME)
    return [
        json_rows(select(settings.c.settings)).label("settings"),
        exists().where(repair_switch.c.site.in_((_SITE, ALL_SITES))).label("repair_stopped"),
        held.with_only_columns(user_state.c.state).scalar_subquery().label("user_state"),
    ]


def repair_facts(row: Row[*tuple[Any, ...]]) -> RepairFacts:
    """Return the columns of `repair_columns`."""
    return RepairFacts(_settings(row).repair, bool(row.repair_stopped), row.user_state)


def _settings(row: Row[*tuple[Any, ...]]) -> SiteSettings:
    known = next((json_value(settings) for (settings,) in json_list(row.settings)), None)
    return DEFAULT_SETTINGS if known is None else parse_site_settings(known)
