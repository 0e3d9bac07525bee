"""Who may do what: every route of the application, and every way to say who is asking."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.api.http.described import operations
from tests.integration.api.http.test_service import assert_failure

PUBLIC, READ, WRITE = "needs no token", "needs the right to read", "needs the right to trigger"
REPORTER = "needs the token of a reporter"

# Every route must be named here; a new one fails the test until somebody has decided who may use it.
ROUTES = {
    "GET /versions": PUBLIC,
    "GET /health/live": PUBLIC,
    "GET /health/ready": PUBLIC,
    "GET /api/v1.0/health": PUBLIC,
    "GET /v3": PUBLIC,
    "POST /v3/auth/tokens": PUBLIC,
    "GET /d/{token}": PUBLIC,
    "GET /openapi.json": READ,
    "GET /metrics": READ,
    "GET /api/v1.0/actions": READ,
    "POST /api/v1.0/actions": WRITE,
    "POST /api/v1.0/actions/plan": WRITE,
    "GET /api/v1.0/actions/{action_id}": READ,
    "GET /api/v1.0/actions/{action_id}/report": READ,
    "GET /api/v1.0/actions/{action_id}/steps/{step}": READ,
    "GET /api/v1.0/actions/{action_id}/steps/{step}/logs": READ,
    "GET /api/v1.0/actions/{action_id}/validations/{validation_id}": READ,
    "POST /api/v1.0/actions/{action_id}/control/{verb}": WRITE,
    "GET /api/v1.0/configdocs": READ,
    "DELETE /api/v1.0/configdocs": WRITE,
    "GET /api/v1.0/configdocs/{collection}": READ,
    "POST /api/v1.0/configdocs/{collection}": WRITE,
    "GET /api/v1.0/renderedconfigdocs": READ,
    "POST /api/v1.0/commitconfigdocs": WRITE,
    "GET /api/v1.0/revisions": READ,
    "GET /api/v1.0/revisions/{number}": READ,
    "POST /api/v1.0/revisions/{number}/rollback": WRITE,
    "GET /api/v1.0/diff/configdocs": READ,
    "GET /api/v1.0/notedetails/{note_id}": READ,
    "GET /api/v1.0/workflows": READ,
    "GET /api/v1.0/workflows/{workflow_id}": READ,
    "GET /api/v1.0/provisioner": READ,
    "GET /api/v1.0/imports/{provisioner}": WRITE,
    "GET /api/v1.0/site_statuses": READ,
    "POST /api/v1.0/notifications/{event_id}/deliveries": WRITE,
    "POST /api/v1.0/sites/{site}/unfinished": WRITE,
    "GET /api/v1.0/actions/{action_id}/tree": READ,
    "GET /api/v1.0/actions/{action_id}/nodes": READ,
    "GET /api/v1.0/sites": READ,
    "GET /api/v1.0/sites/{site}/plan": READ,
    "GET /api/v1.0/sites/{site}/objects": READ,
    "GET /api/v1.0/sites/{site}/audit": READ,
    "GET /api/v1.0/sites/{site}/tree": READ,
    "GET /api/v1.0/sites/{site}/nodes": READ,
    "GET /api/v1.0/sites/{site}/nodes/{node}": READ,
    "GET /api/v1.0/sites/{site}/nodes/{node}/state": READ,
    "PUT /api/v1.0/sites/{site}/nodes/{node}/state": WRITE,
    "GET /api/v1.0/sites/{site}/state": READ,
    "GET /api/v1.0/sites/{site}/state/history": READ,
    "PUT /api/v1.0/sites/{site}/states": WRITE,
    "POST /api/v1.0/sites/{site}/observe": WRITE,
    "GET /api/v1.0/sites/{site}/repair": READ,
    "PUT /api/v1.0/sites/{site}/repair": WRITE,
    "POST /api/v1.0/sites/{site}/repair": WRITE,
    "GET /api/v1.0/repair": READ,
    "PUT /api/v1.0/repair": WRITE,
    "GET /api/v1.0/sites/{site}/reports": READ,
    "POST /api/v1.0/sites/{site}/reports/acknowledgements": WRITE,
    "GET /api/v1.0/owners": READ,
    "GET /api/v1.0/whoami": READ,
    "POST /api/v1.0/sites/{site}/touch": WRITE,
    "POST /api/v1.0/sites/{site}/adopt": WRITE,
    "GET /api/v1.0/actions/{action_id}/retry": READ,
    "POST /api/v1.0/actions/{action_id}/retry": WRITE,
    "POST /api/v1.0/actions/{action_id}/approvals/{group}": READ,
    "GET /api/v1.0/actions/{action_id}/operations/{op}/tasks": READ,
    "GET /api/v1.0/sites/{site}/reporters": WRITE,
    "POST /api/v1.0/sites/{site}/reporters": WRITE,
    "DELETE /api/v1.0/sites/{site}/reporters/{reporter_id}": WRITE,
    "PUT /api/v1.0/sites/{site}/reported": REPORTER,
}
NAMES = sorted(ROUTES)
# Shipyard has it; here no action is created that fails its validation.
NEVER_GOOD = "GET /api/v1.0/actions/{action_id}/validations/{validation_id}"


def send(client: httpx.Client, route: str) -> httpx.Response:
    """Send a request in which all but the path is wrong: who is asking has to be looked at first."""
    method, path = route.split(" ")
    body = b"\xff{" if method == "POST" else None
    path = path.replace("{site}", "default").replace("{", "").replace("}", "")
    return client.request(method, path, params={"verbosity": "99"}, content=body)


def test_every_route_has_been_decided_about() -> None:
    assert operations().keys() - ROUTES.keys() == set(), "say in ROUTES who may use it"
    assert ROUTES.keys() - operations().keys() == set(), "these are gone, or have another path"


@pytest.mark.parametrize("route", NAMES)
def test_without_a_token(route: str, anonymous: httpx.Client) -> None:
    answer = send(anonymous, route)
    if ROUTES[route] == PUBLIC:
        assert answer.status_code != 401
    else:
        assert_failure(answer, 401, "log in")
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("route", NAMES)
def test_with_a_readers_token(route: str, viewer: httpx.Client) -> None:
    answer = send(viewer, route)
    if ROUTES[route] == WRITE:
        assert_failure(answer, 403, "Airflow does not let viewer")
    elif ROUTES[route] == REPORTER:
        assert_failure(answer, 401, "send the token of a reporter")
    else:
        assert answer.status_code not in (401, 403, 500)


@pytest.mark.parametrize("route", NAMES)
def test_with_an_operators_token(route: str, user: httpx.Client) -> None:
    status = send(user, route).status_code
    assert status == 401 if ROUTES[route] == REPORTER else status not in (401, 403, 500)


@pytest.mark.parametrize("route", NAMES)
def test_is_described(route: str) -> None:
    operation = operations()[route]
    assert operation["summary"]
    assert operation["description"]
    answers = operation["responses"]
    good = {code: answer for code, answer in answers.items() if code.startswith("2")}
    assert bool(good) == (route != NEVER_GOOD)
    for answer in good.values():
        assert all("example" in content for content in answer.get("content", {}).values())
    assert "422" not in answers
    if "If-Match" in {parameter["name"] for parameter in operation.get("parameters", ())}:
        assert "412" in answers
    if "/api/v1.0/" in route and ROUTES[route] != PUBLIC:
        errors = {code: answer for code, answer in answers.items() if int(code) >= 400}
        assert errors.keys() >= {"400", "401", "403", "404", "413", "500", "503"}
        assert ("409" in errors) == (not route.startswith("GET ") or "{action_id}" in route)
        for answer in errors.values():
            schema = answer["content"]["application/json"]["schema"]
            assert (schema.get("anyOf") or [schema])[0]["$ref"].endswith("/ErrorBody")
        assert {"HTTPBearer": []} in operation["security"]
        assert "verbosity" in {parameter["name"] for parameter in operation["parameters"]}


@pytest.mark.parametrize("header", ["X-Auth-Token", "Authorization"])
@pytest.mark.parametrize(
    "token",
    ["x", "a.b.c", "..", "é", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiIsInJvbGUiOiJhZG1pbiJ9.", "x" * 5000],
)
def test_a_token_that_is_none(anonymous: httpx.Client, header: str, token: str) -> None:
    value = token if header == "X-Auth-Token" else f"Bearer {token}"
    answer = anonymous.get("/api/v1.0/workflows", headers=[(header.encode(), value.encode())])
    assert_failure(answer, 401, "log in")


def test_a_cookie_that_is_none(anonymous: httpx.Client) -> None:
    assert_failure(anonymous.get("/api/v1.0/workflows", headers={"Cookie": "_token=a.b.c"}), 401, "log in")


def test_airships_header(anonymous: httpx.Client, tokens: dict[str, str]) -> None:
    answer = anonymous.get("/openapi.json", headers={"X-Auth-Token": tokens["viewer"]})
    assert answer.status_code == 200


def test_airflows_cookie(anonymous: httpx.Client, tokens: dict[str, str]) -> None:
    cookie = {"Cookie": f"_token={tokens['viewer']}"}
    assert anonymous.get("/openapi.json", headers=cookie).status_code == 200
    # It is also what Airflow's own API is asked with.
    assert anonymous.get("/api/v1.0/workflows", headers=cookie).status_code == 200
    # A cookie without a word of where the request comes from changes nothing.
    assert_failure(anonymous.post("/api/v1.0/actions", headers=cookie), 403, "send a token")
    own = {**cookie, "Sec-Fetch-Site": "same-origin"}
    assert_failure(anonymous.post("/api/v1.0/actions", headers=own), 403, "Airflow does not let viewer")


def test_a_token_counts_more_than_the_cookie(anonymous: httpx.Client, tokens: dict[str, str]) -> None:
    headers = {"Cookie": f"_token={tokens['admin']}", "X-Auth-Token": tokens["viewer"]}
    assert_failure(anonymous.post("/api/v1.0/actions", headers=headers), 403, "Airflow does not let viewer")


def test_airships_header_counts_beside_the_authorization_of_a_proxy(
    anonymous: httpx.Client, tokens: dict[str, str]
) -> None:
    headers = {"Cookie": f"_token={tokens['admin']}", "Authorization": "Basic eDp5", "X-Auth-Token": tokens["viewer"]}
    assert_failure(anonymous.post("/api/v1.0/actions", headers=headers), 403, "Airflow does not let viewer")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://behind.a.proxy"}, 400),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
    ],
)
def test_only_a_page_of_airflows_own_origin_changes_something_by_the_cookie(
    anonymous: httpx.Client, tokens: dict[str, str], sent: dict[str, str], status: int
) -> None:
    cookie = {"Cookie": f"_token={tokens['admin']}", "Content-Type": "text/plain"}
    answer = anonymous.post("/api/v1.0/actions", headers={**cookie, **sent}, content=b"{}")
    assert answer.status_code == status, answer.text
    assert anonymous.get("/api/v1.0/actions", headers={**cookie, **sent}).status_code == 200
    token = {"X-Auth-Token": tokens["admin"]}
    assert anonymous.post("/api/v1.0/actions", headers={**token, **sent}, content=b"{}").status_code == 400


def test_airflows_own_origin_is_known_without_the_browsers_word(
    anonymous: httpx.Client, origin: str, tokens: dict[str, str]
) -> None:
    headers = {"Cookie": f"_token={tokens['admin']}", "Origin": origin}
    assert anonymous.post("/api/v1.0/actions", headers=headers, content=b"{}").status_code == 400


@pytest.mark.parametrize(("role", "may"), [("admin", True), ("op", True), ("user", False), ("viewer", False)])
def test_secrets_need_the_right_to_read_connections(airflow_app: object, role: str, may: bool) -> None:
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    from slipway_api.http.airflow_access import Caller

    assert Caller(role, SimpleAuthManagerUser(username=role, role=role)).may_read_cleartext() is may


@pytest.mark.parametrize("route", [name for name in NAMES if ROUTES[name] == WRITE])
def test_who_lacks_the_right_is_told_so_before_that_the_site_is_not_there(route: str, viewer: httpx.Client) -> None:
    method, path = route.split(" ")
    path = path.replace("{site}", "nowhere").replace("{", "").replace("}", "")
    assert_failure(viewer.request(method, path, params={"site": "nowhere"}), 403, "Airflow does not let viewer")
