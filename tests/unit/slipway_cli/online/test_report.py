"""The report of an action in each of its forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import ID, Server

TEXT = "deploy_site of site default, revision 3: SUCCESS: every group succeeded\n"


@pytest.mark.parametrize(
    ("options", "form"),
    [((), "text"), (("-o", "json"), "json"), (("-o", "html"), "html"), (("--output-format", "raw"), "json")],
)
@pytest.mark.parametrize("target", [f"action/{ID}", ID])
def test_the_form_is_what_was_asked_for(
    slipway: Slipway, server: Server, options: tuple[str, ...], form: str, target: str
) -> None:
    server.on("GET", f"/actions/{ID}/report", TEXT)
    result = slipway("report", target, *options)
    assert (result.exit_code, result.stdout) == (0, TEXT)
    assert server.request.params["format"] == form


def test_it_is_written_to_a_file(slipway: Slipway, server: Server, tmp_path: Path) -> None:
    server.on("GET", f"/actions/{ID}/report", "<!doctype html>")
    path = tmp_path / "report.html"
    result = slipway("report", f"action/{ID}", "-o", "html", "-f", path)
    assert (result.exit_code, result.stdout, path.read_text()) == (0, "", "<!doctype html>\n")


def test_there_is_none_yet(slipway: Slipway, server: Server) -> None:
    server.refuse("GET", f"/actions/{ID}/report", 404, f"action {ID} has no report: it is not over yet")
    result = slipway("report", f"action/{ID}")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "it is not over yet" in result.stderr
