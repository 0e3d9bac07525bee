"""The foundation of the API: what every answer has, and what every failure looks like."""

from __future__ import annotations

import http.client
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import text

from site_store import SiteStore
from site_store.sql import fence
from site_store.sql.schema_version import VERSION_TABLE
from slipway_api.actions import workflows
from slipway_api.http import health
from slipway_api.http.bodies import LARGEST_JSON, LARGEST_YAML
from slipway_api.http.kept import Kept
from tests.support.stores import empty_database, newer_code_alone_may_write

WORKFLOWS = "/api/v1.0/workflows"


def assert_failure(answer: httpx.Response, status: int, said: str) -> None:
    """Check an error of the API: its status, and Shipyard's body with the same facts in all its places."""
    body = answer.json()
    assert answer.status_code == status, body
    assert (body["kind"], body["apiVersion"], body["metadata"], body["status"]) == ("status", "v1.0", {}, "Failure")
    assert body["code"].startswith(f"{status} ")
    assert said in body["message"]
    assert isinstance(body["retry"], bool)
    assert body["reason"]
    details = body["details"]
    assert details["errorCount"] == len(details["messageList"]) > 0
    assert all(item["error"] is True and item["message"] for item in details["messageList"])
    assert answer.headers["content-type"] == "application/json"


def test_versions_and_health_need_no_token(anonymous: httpx.Client) -> None:
    assert anonymous.get("/versions").json() == {"v1.0": {"path": "/api/v1.0", "status": "stable"}}
    for path in ("/health/live", "/health/ready", "/api/v1.0/health"):
        assert (anonymous.get(path).status_code, anonymous.get(path).content) == (204, b"")


def test_a_process_without_its_store_lives_and_is_not_ready_and_says_why_in_a_word(
    anonymous: httpx.Client, store_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [0.0]
    monkeypatch.setattr(health, "_kept", Kept[str | None](1, health.KEPT_FOR, lambda: clock[0]))
    for url, reason in (
        ("postgresql://nobody:secret@127.0.0.1:1/gone", "store"),
        ("nonsense", "store"),
        (empty_database(), "schema"),
    ):
        monkeypatch.setenv("SLIPWAY_DATABASE_URL", url)
        clock[0] += health.KEPT_FOR
        answer = anonymous.get("/health/ready")
        assert (answer.status_code, answer.json()) == (503, {"reason": reason})
        assert anonymous.get("/health/live").status_code == 204
    assert "Not ready: " in caplog.text
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", store_url)
    assert anonymous.get("/health/ready").status_code == 503, "an answer counts for a second"
    clock[0] += health.KEPT_FOR
    assert anonymous.get("/health/ready").status_code == 204


def test_a_process_whose_store_was_upgraded_under_it_is_not_ready(
    anonymous: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = empty_database()
    SiteStore.upgrade(url)
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", url)
    monkeypatch.setattr(health, "_kept", Kept[str | None](1, 0.0))
    assert anonymous.get("/health/ready").status_code == 204
    with SiteStore.open(url) as store, store._database.engine.begin() as tx:
        fence.enter(tx, fence.CURRENT)
        tx.execute(text("UPDATE store_state SET writes_from = '9999'"))
        tx.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    assert anonymous.get("/health/ready").json() == {"reason": "schema"}


def test_unknown_route(viewer: httpx.Client) -> None:
    assert_failure(viewer.get("/api/v1.0/nonsense"), 404, "there is nothing at /slipway/api/v1.0/nonsense")
    assert_failure(viewer.post("/nonsense"), 404, "there is nothing at /slipway/nonsense")


def test_a_slash_too_many_or_too_few_leads_to_a_path_and_to_no_host_that_the_request_names(
    anonymous: httpx.Client,
) -> None:
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    answer = anonymous.get("/versions/?from=%2F%2Fme", headers=evil)
    assert (answer.status_code, answer.headers["location"]) == (307, "/slipway/versions?from=%2F%2Fme")
    answer = anonymous.post("/api/v1.0/configdocs/a%20b%3F/", headers=evil)
    assert (answer.status_code, answer.headers["location"]) == (307, "/slipway/api/v1.0/configdocs/a%20b%3F")
    for path in ("//versions/", "//evil.example/", "/%2Fevil.example/", "/%5C%5Cevil.example/"):
        assert anonymous.get(path, headers=evil).status_code == 404


def test_wrong_method_names_the_right_ones(viewer: httpx.Client) -> None:
    answer = viewer.delete(WORKFLOWS)
    assert_failure(answer, 405, "DELETE is not possible here: use GET, OPTIONS")
    assert answer.headers["allow"] == "GET, OPTIONS"


def test_options_tells_what_is_possible(anonymous: httpx.Client) -> None:
    assert anonymous.options(WORKFLOWS).headers["allow"] == "GET, OPTIONS"
    assert anonymous.options("/v3/auth/tokens").headers["allow"] == "OPTIONS, POST"
    assert anonymous.options(WORKFLOWS).status_code == 200
    assert anonymous.options("/nonsense").status_code == 404


@pytest.mark.parametrize("verbosity", ["6", "-1", "loud", ""])
def test_verbosity_is_checked_everywhere(viewer: httpx.Client, verbosity: str) -> None:
    answer = viewer.get("/api/v1.0/site_statuses", params={"verbosity": verbosity})
    assert_failure(answer, 400, "the request is not valid")
    assert "'verbosity'" in answer.json()["details"]["messageList"][0]["message"]


def test_all_that_is_wrong_with_a_request_is_said_at_once(viewer: httpx.Client) -> None:
    answer = viewer.get("/api/v1.0/site_statuses", params={"verbosity": "9", "site": "../secret"})
    assert answer.json()["details"]["errorCount"] == 2
    assert "secret" not in answer.text


def test_request_id_and_context_marker(viewer: httpx.Client) -> None:
    marker = str(uuid4())
    answer = viewer.get("/versions", headers={"X-Context-Marker": marker})
    assert answer.headers["x-context-marker"] == marker
    other = viewer.get("/api/v1.0/nonsense", headers={"X-Context-Marker": "no uuid"})
    assert other.headers["x-context-marker"] == other.headers["x-shipyard-req"]
    assert UUID(other.headers["x-shipyard-req"]) != UUID(answer.headers["x-shipyard-req"])


def test_unexpected_errors_are_logged_and_not_shown(
    viewer: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(workflows, "_moment", broken)
    with caplog.at_level(logging.ERROR, "slipway_api.http.error_answers"):
        answer = viewer.get(WORKFLOWS, params={"since": "2026-01-01"})
    assert_failure(answer, 500, "an unexpected error")
    assert answer.json()["retry"] is True
    assert "swordfish" not in answer.text
    assert answer.headers["x-shipyard-req"] in caplog.text
    assert "swordfish" in caplog.text


def test_without_a_store(viewer: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", empty_database())
    answer = viewer.get("/api/v1.0/actions/01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert_failure(answer, 503, "slipway store upgrade")


def test_rule_60_where_newer_code_alone_may_write_the_api_reads_on_and_says_why_it_writes_nothing(
    admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = empty_database()
    SiteStore.upgrade(url)
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", url)
    assert admin.get("/api/v1.0/actions").status_code == 200
    node = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n"
    with newer_code_alone_may_write(url):
        answer = admin.post("/api/v1.0/configdocs/design", params={"site": "north"}, content=node)
        assert admin.get("/api/v1.0/actions").status_code == 200
    assert_failure(answer, 503, "the store was upgraded, and only Slipway of schema 9999 or newer may write there")
    assert answer.json()["retry"] is False


@pytest.mark.parametrize(
    ("path", "limit"), [("/api/v1.0/configdocs/design", LARGEST_YAML), ("/v3/auth/tokens", LARGEST_JSON)]
)
def test_too_large_by_its_own_word(origin: str, tokens: dict[str, str], path: str, limit: int) -> None:
    host = urlsplit(origin)
    with closing(http.client.HTTPConnection(host.hostname or "", host.port, timeout=10)) as connection:
        connection.putrequest("POST", f"/slipway{path}")
        connection.putheader("Content-Length", str(limit + 1))
        connection.putheader("X-Auth-Token", tokens["admin"])
        # The body never comes: the header decides.
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status == 413
        assert b"the most that is read here" in answer.read()


def test_too_large_in_chunks(admin: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(LARGEST_JSON // 65536 + 1):
            yield b" " * 65536

    answer = admin.post("/v3/auth/tokens", content=chunks())
    assert answer.status_code == 413
    assert "error" in answer.json()


def test_any_text_can_be_repeated(viewer: httpx.Client) -> None:
    answer = viewer.get("/api/v1.0/workflows", params={"since": "\U0001f600 \x00"})
    assert_failure(answer, 400, "is no time")


@pytest.mark.endurance
def test_many_requests_at_once(viewer: httpx.Client) -> None:
    # By which the test knows the description that it holds all answers against: once, and not in each thread.
    assert viewer.get(WORKFLOWS, params={"limit": 1}).status_code == 200
    # Each waits for an answer of Airflow's own API; more than the server's pool of threads has room for.
    with ThreadPoolExecutor(64) as threads:
        answers = list(threads.map(lambda _: viewer.get(WORKFLOWS, params={"limit": 1}).status_code, range(64)))
    assert answers == [200] * 64


def test_large_answers_are_compressed(viewer: httpx.Client) -> None:
    answer = viewer.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json()["info"]["title"] == "Slipway"


def test_a_body_is_not_looked_at_before_the_caller(anonymous: httpx.Client, viewer: httpx.Client) -> None:
    for client, status in ((anonymous, 401), (viewer, 403)):
        answer = client.post("/api/v1.0/actions", content=b"{", headers={"Content-Type": "application/json"})
        assert answer.status_code == status
