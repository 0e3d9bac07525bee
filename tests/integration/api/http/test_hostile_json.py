"""JSON from outside, as deep as it may be sent: it is refused, or means nothing, and is never a defect."""

from __future__ import annotations

import base64

import httpx
import pytest

from site_store import SiteStore
from tests.integration.api.airflow_runs import commit, create, plan
from tests.integration.api.http.test_reading import PLACES

pytestmark = pytest.mark.usefixtures("dags", "connected")


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
