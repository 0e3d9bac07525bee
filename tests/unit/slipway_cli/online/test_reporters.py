"""Reporters: the token is shown once, and alone on standard output."""

from __future__ import annotations

import json

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import AT, ID, Server

MADE = {"id": ID, "site": "lab-7", "owner": "reporter:burn-in", "created": AT, "created_by": "ann"}


def test_its_token_is_all_of_the_output(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/sites/lab-7/reporters", MADE | {"token": "a-token"}, 201)
    result = slipway("create", "reporter", "burn-in", "--site", "lab-7")
    assert (result.exit_code, result.stdout) == (0, "a-token\n")
    assert f"reporter {ID} of site lab-7 speaks for reporter:burn-in" in result.stderr
    assert json.loads(server.request.body) == {"owner": "burn-in"}


def test_the_list(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/reporters", [MADE | {"revoked": None, "last_used": None}])
    row = slipway("get", "reporters").stdout.splitlines()[2]
    assert row.split() == [ID, "reporter:burn-in", "2026-03-01", "12:00:00", "ann", "never"]


def test_none(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/reporters", [])
    assert slipway("get", "reporters").stdout == "site default has no reporter\n"


def test_one_is_revoked(slipway: Slipway, server: Server) -> None:
    listed = [MADE | {"revoked": None, "last_used": None}]
    server.on("GET", "/sites/default/reporters", listed, headers={"ETag": '"3"'})
    server.on("DELETE", f"/sites/default/reporters/{ID}", MADE | {"revoked": AT, "last_used": None})
    revoked = slipway("delete", f"reporter/{ID}", stdin="y\n")
    assert revoked.stdout == f"reporter {ID} is revoked\n"
    asked = f"revoke reporter {ID} of site default, which speaks for reporter:burn-in, never used? [y/N]: "
    assert asked in revoked.stderr
    assert server.request.headers["If-Match"] == '"3"', "as it was when it was asked"
    assert slipway("delete", "reporter", ID, "--yes").exit_code == 0
    assert "If-Match" not in server.request.headers
    calls = len(server.mock.calls)
    assert slipway("delete", "reporter", ID, stdin="n\n").exit_code == 1
    assert len(server.mock.calls) == calls + 1, "the list was read, and nothing else asked"


def test_one_that_is_none_is_not_asked_about(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/sites/default/reporters", [])
    refused = slipway("delete", "reporter", ID)
    assert (refused.exit_code, f"site default has no reporter {ID}" in refused.stderr) == (1, True)
