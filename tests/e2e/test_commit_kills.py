"""Kill -9 of the API server in the middle of a commit: the site has the old revision and its buffer, or the new one."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import pytest

from api_client.session import ApiError, ApiSession
from tests.e2e.running import RunningSlipway
from tests.support.sites import group, node, site

SITE = "commit-kills"
API = "/slipway/api/v1.0"
DELAYS = (0.05, 1.0)


def ask(session: ApiSession, method: str, path: str, **arguments: Any) -> Any:
    """Send a request about the site; return the JSON or text of the answer."""
    answer = session.request(path, method, API + path, params={"site": SITE} | arguments.pop("params", {}), **arguments)
    return answer.json() if "json" in answer.headers["Content-Type"] else answer.text


@pytest.mark.usefixtures("own")
def test_a_killed_commit_leaves_the_old_revision_or_the_new_one(slipway: RunningSlipway) -> None:
    session = slipway.airflow.session
    nodes = [node(f"n{number:04}") for number in range(1500)]
    seen = set()
    for number, delay in enumerate(DELAYS, 1):
        text = site(nodes[: 1400 + number], [group("all", minimum_successful_nodes=1)])
        ask(session, "POST", "/configdocs/design", params={"buffermode": "replace"}, data=text.encode())
        before = [revision["revision"] for revision in ask(session, "GET", "/revisions")]

        def commit() -> None:
            with contextlib.suppress(ApiError), contextlib.closing(slipway.new_session()) as mine:
                ask(mine, "POST", "/commitconfigdocs")

        thread = threading.Thread(target=commit)
        thread.start()
        time.sleep(delay)
        slipway.kill_component("api-server")
        thread.join(300)
        slipway.wait_healthy()
        after = [revision["revision"] for revision in ask(session, "GET", "/revisions")]
        (status,) = ask(session, "GET", "/configdocs")
        if after == before:
            seen.add("old")
            assert status["new_status"] in ("modified", "created")
            assert ask(session, "GET", "/configdocs/design", params={"version": "buffer"}) == text
            assert "revision" in ask(session, "POST", "/commitconfigdocs"), "it can be committed again"
        else:
            seen.add("new")
            assert after == [len(before) + 1, *before]
            assert status["new_status"] == "unmodified", "the buffer is empty"
        assert ask(session, "GET", "/configdocs/design", params={"version": "committed"}) == text
        rendered = ask(session, "GET", "/renderedconfigdocs", params={"version": "committed"})
        assert rendered.count("drydock/BaremetalNode/v1") == 1400 + number
    assert "old" in seen, "no kill came before the end of its commit"
