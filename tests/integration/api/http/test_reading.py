"""What reads writes nothing, asked with a store that refuses to write; and JSON as deep as it may be is no defect."""

from __future__ import annotations

import base64
from typing import NoReturn

import httpx
import pytest

from site_store import ActionState, Claim, SiteStore, StoreError
from slipway_api.http.dependencies import open_store
from strategy_lib.phase import Phase
from tests.integration.api.airflow_runs import AirflowRuns, commit, create, plan, run_of
from tests.integration.api.http.test_access import NAMES

pytestmark = pytest.mark.usefixtures("dags", "connected")

#: By the parameter of the path: what makes the route find something.
PLACES = {
    "collection": "design",
    "number": "1",
    "step": "acquire",
    "dag_id": "deploy_site",
    "site": "default",
    "node": "n1",
    "provisioner": "ironic",
}
#: They find nothing here: no validation is kept, the action has no report, its step has not begun, no site is led, and
#: the provisioner is no Ironic.
NOTHING = (
    "/validations/{validation_id}",
    "/notedetails/{note_id}",
    "/logs",
    "/report",
    "/sites/{site}/state",
    "/imports/{provisioner}",
)


class WroteSomething(StoreError):
    """A request that should only read has begun a transaction that writes.

    As an error of the store: a list of the provisioner's that cannot be kept is no failure of who asked for it.
    """


def _refuse(_work: object) -> NoReturn:
    raise WroteSomething


@pytest.fixture
def dead(user: httpx.Client, store: SiteStore, airflow_runs: AirflowRuns) -> str:
    """Return the id of an action that is at work in the store, and whose run is over."""
    commit(store)
    made = str(create(user)["id"])
    plan(store, made)
    store.groups.open_attempt(made, "control", "first")
    store.operations.begin(Claim(made, "default", "control", 1, Phase.PREPARE, ("n1",), "file:///d"))
    airflow_runs.end("deploy_site", made)
    return made


def test_no_get_writes(op: httpx.Client, store: SiteStore, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    token = store.secret_texts.token_of(store.revisions.get("default", 1).design_handle)
    names = PLACES | {"action_id": dead, "note_id": dead, "validation_id": dead, "token": token, "run_id": run_of(dead)}
    names["workflow_id"] = _workflow(op)
    names["op"] = str(store.operations.of_action(dead)[0].op)
    for way in ("write", "write_at"):
        monkeypatch.setattr(open_store()._database, way, _refuse)
    routes = [name.removeprefix("GET ") for name in NAMES if name.startswith("GET ")]
    wrong = {}
    for route in routes:
        query = {"version": "committed"} if "configdocs" in route and "diff" not in route else {}
        status = op.get(route.format_map(names), params=query).status_code
        found = (404,) if route.endswith(NOTHING) else (409,) if route.endswith("/retry") else (200, 204)
        if status not in found:
            wrong[route] = status
    assert wrong == {}
    # So that this test can fail.
    assert op.delete("/api/v1.0/configdocs").status_code == 500


@pytest.mark.parametrize("path", ["actions", "actions/{}"])
def test_a_dead_action_is_shown_as_over_and_stays_as_it_is(
    path: str, viewer: httpx.Client, store: SiteStore, dead: str
) -> None:
    shown = viewer.get(f"/api/v1.0/{path.format(dead)}").json()
    action = shown[0] if isinstance(shown, list) else shown.get("action", shown)
    verdict = "the DAG run ended without its report"
    assert (action["state"], action["verdict"], action["ended"]) == ("cancelled", verdict, None)
    assert store.actions.get(dead).state is ActionState.RUNNING


def _workflow(client: httpx.Client) -> str:
    (workflow, *_) = client.get("/api/v1.0/workflows", params={"limit": 1}).json()
    return str(workflow["workflow_id"])


class _Places(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "0" * 26


def _deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def _word(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


TEXTS = ["[" * 15_000, "[" * 999, _deep(900), _deep(200)]


PAGES = ("sites/default", "sites/default/nodes", "sites/default/states", "actions/{action_id}/nodes")


def test_a_cursor_of_brackets_is_no_defect(op: httpx.Client, user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    action = str(create(user)["id"])
    plan(store, action)
    routes = []
    for path, about in op.get("/openapi.json").json()["paths"].items():
        for one in about.get("get", {}).get("parameters", []):
            if one["in"] == "query" and one["name"] in ("after", "since", "cursor", "page", "before"):
                routes.append((path, one["name"]))
    assert len(routes) > 5
    routes += [(f"/ui/{page}", "after") for page in PAGES]
    wrong = {}
    places = PLACES | {"action_id": action}
    for path, name in routes:
        for text in TEXTS:
            for cursor in (text, _word(text)):
                status = op.get(path.format_map(_Places(places)), params={name: cursor}).status_code
                if status >= 500:
                    wrong[path, name, text[:3], len(cursor)] = status
    assert wrong == {}


def test_a_body_of_brackets_is_no_defect(admin: httpx.Client, store: SiteStore) -> None:
    commit(store)
    wrong = {}
    for path, about in admin.get("/openapi.json").json()["paths"].items():
        for method in about.keys() & {"post", "put", "patch", "delete"}:
            if "requestBody" not in about[method]:
                continue
            place = path.format_map(_Places(PLACES))
            for text in TEXTS:
                for body in (
                    text,
                    f'{{"name": "deploy_site", "parameters": {{"target_nodes": {text}}}}}',
                    f'{{"a": {text}}}',
                ):
                    answer = admin.request(method, place, content=body, headers={"Content-Type": "application/json"})
                    if answer.status_code >= 500:
                        wrong[method, path, body[:16], len(body)] = answer.status_code
    assert wrong == {}
