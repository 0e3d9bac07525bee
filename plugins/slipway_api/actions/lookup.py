"""Which action a path names: by its own id, or by that of its DAG run in Airflow."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Path

from site_store import ActionRecord, SiteStore
from site_store.trees.tree_facts import KnownAction
from slipway_api.http.airflow_access import Caller
from slipway_api.http.answers import EXAMPLE_ID
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import require_match

ID_LENGTH = 26
# Airflow's own bounds; every run that it names itself has two underscores, and so has every run of Slipway's.
_RUN_ID = re.compile(r"(?=.*__)[A-Za-z0-9_.~:+-]{1,250}")

ActionId = Annotated[
    str,
    Path(description="The id of an action.", json_schema_extra={"pattern": "^[0-9A-Za-z]{26}$"}, examples=[EXAMPLE_ID]),
]


def find_action(store: SiteStore, caller: Caller, action_id: str) -> ActionRecord:
    """Return an action that the caller may see, by its id or by that of its DAG run in Airflow.

    Raises `ApiError` 404, 403; 409 when runs of several DAGs have this id.
    """
    return find_known_action(store, caller, action_id).action


def find_known_action(store: SiteStore, caller: Caller, action_id: str) -> KnownAction:
    """Return an action as `find_action` does, and its change token, both of one moment and by one statement.

    Raises `ApiError` as `find_action` does.
    """
    found = store.trees.actions_of_run(action_id) if _RUN_ID.fullmatch(action_id) else []
    if not found:
        if len(action_id) != ID_LENGTH or not (action_id.isascii() and action_id.isalnum()):
            raise ApiError(404, f"there is no action {action_id[:64]!r}", "Action not found")
        found = [store.trees.known_action(action_id)]
    if len(found) > 1:
        named = ", ".join(f"{one.action.id} ({one.action.kind})" for one in found)
        raise ApiError(409, f"several runs have the id {action_id!r}: name the action, {named}", "Ambiguous")
    (known,) = found
    caller.require_read(known.action.dag_id)
    return known


def take_version(store: SiteStore, action: ActionRecord, if_match: str | None) -> None:
    """Have an action leave the version that a command is meant for; without a condition the last command wins.

    Raises `ApiError` or `site_store.VersionChanged`, both 412: it has another version by now.
    """
    version = require_match(if_match, lambda: action.version, f"action {action.id}")
    if version is not None:
        store.actions.take_version(action.id, version)


def actions_of_run(store: SiteStore, run_id: str) -> list[ActionRecord]:
    """Return the actions whose DAG run has this id."""
    return store.actions.with_run_id(run_id) if _RUN_ID.fullmatch(run_id) else []
