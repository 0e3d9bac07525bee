"""The walk-through of the README, run literally, and the same walk in the pages of Airflow."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from tests.e2e.browser import logged_in, trigger
from tests.e2e.running import HANGS
from tests.e2e.walking import Walker, two_terminals, walk
from tests.support.sites import group, node, site


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walker]:
    with two_terminals(tmp_path_factory.mktemp("walkthrough"), shlex.split(walk()[0])) as walker:
        yield walker


@pytest.mark.endurance
@pytest.mark.timeout(900)
def test_the_walk_through_of_the_readme(walker: Walker) -> None:
    said = walker.walks(walk()[1])
    output = "\n".join(said.values())
    assert "deploy_site of site default, revision 1: SUCCESS" in output
    assert "Complete" in said[".venv/bin/slipway get actions"]
    assert walker.runtime.password("admin") not in output


@pytest.mark.endurance
@pytest.mark.timeout(900)
def test_the_same_walk_with_airflows_trigger_form(walker: Walker, tmp_path: Path) -> None:
    password = walker.runtime.password("admin")
    design = tmp_path / "form.yaml"
    design.write_text(site([node("form-1"), node("form-2")], [group("all", percent_successful_nodes=100)]))
    walker.types(".venv/bin/slipway login --user admin", password + "\n")
    walker.types(f".venv/bin/slipway create configdocs design --site form --filename {design}")
    walker.types(".venv/bin/slipway commit configdocs --site form")
    with logged_in(walker.runtime.url, "admin", password, "/dags/deploy_site") as page:
        run_id = unquote(trigger(page, {"site": "form"}))
        session = ApiSession(walker.runtime.url, "admin", password)
        assert AirflowClient(session).wait_for_run("deploy_site", run_id, HANGS) == "success"
        page.get_by_text("Success").first.wait_for()
        # The connection that `slipway up --simulator` has made can be tested where a person would.
        page.goto(f"{walker.runtime.url}/connections")
        row = page.locator("tr", has_text="slipway_provisioner")
        with page.expect_response("**/connections/test") as tested:
            row.get_by_role("button", name="Test Connection").click()
        assert (tested.value.status, tested.value.json()["status"]) == (200, True), tested.value.text()
    report = SlipwayClient(session).report(run_id)
    assert report is not None
    nodes = {entry["name"]: (entry["state"], entry["as_wanted"]) for entry in report["nodes"]}
    assert nodes == {"form-1": ("success", False), "form-2": ("success", False)}, "both were submitted"
    assert "deploy_site" in walker.types(".venv/bin/slipway get actions --site form")
    by_run = walker.types(f".venv/bin/slipway describe action/{run_id}")
    assert "form, revision 1" in by_run, "as Airflow's page names it"
