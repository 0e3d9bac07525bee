"""A design as the provisioner fetches it."""

from __future__ import annotations

import time

import httpx
import pytest

from site_store import SiteStore
from tests.integration.api.http.test_service import assert_failure


class AccessLog:
    """Stands in for the logger of Airflow's access log, and remembers the paths it is told."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def info(self, _: str, *, path: str, **__: object) -> None:
        """Note one request."""
        self.paths.append(path)


def test_the_token_opens_one_design(anonymous: httpx.Client, store: SiteStore) -> None:
    token = store.revisions.add_candidate("alpha", "schema: x\n")
    answer = anonymous.get(f"/d/{token}")
    assert (answer.status_code, answer.text) == (200, "schema: x\n")
    assert answer.headers["content-type"] == "application/x-yaml"
    assert answer.headers["cache-control"] == "no-store"
    store.revisions.remove_candidate(token)
    assert_failure(anonymous.get(f"/d/{token}"), 404, "no design has this token")


def test_the_token_is_not_logged(anonymous: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.common import http_access_log

    access_log = AccessLog()
    monkeypatch.setattr(http_access_log, "logger", access_log)
    anonymous.get("/d/a-secret-token")
    anonymous.get("/d/a-secret-token", headers={"X-Auth-Token": "x"})
    anonymous.get("/d/a-secret-token/")
    anonymous.get("/d/a-secret-token/more")
    anonymous.head("/d/a-secret-token")
    anonymous.get("/d//a-secret-token")
    anonymous.get("/versions")
    end = time.monotonic() + 10
    # Airflow writes its line once the answer is on its way.
    while len(access_log.paths) < 7 and time.monotonic() < end:
        time.sleep(0.01)
    assert access_log.paths == [*["/slipway/d/***"] * 5, "/slipway/d//***", "/slipway/versions"]


def test_it_is_read_only(anonymous: httpx.Client) -> None:
    assert_failure(anonymous.put("/d/x"), 405, "use GET, OPTIONS")


@pytest.mark.parametrize("token", ["x", "%2e%2e", "%00", "é", "x" * 100])
def test_a_token_that_opens_nothing(anonymous: httpx.Client, token: str) -> None:
    assert anonymous.get(f"/d/{token}").status_code == 404
