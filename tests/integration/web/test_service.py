"""The foundation of the API: what every answer has, and what every failure looks like."""

from __future__ import annotations

import httpx


def test_versions_and_health_need_no_token(anonymous: httpx.Client) -> None:
    assert anonymous.get("/versions").json() == {"v1.0": {"path": "/api/v1.0", "status": "stable"}}
    for path in ("/health", "/api/v1.0/health"):
        assert (anonymous.get(path).status_code, anonymous.get(path).content) == (204, b"")
