"""The page of what an update would do: for everybody who reads, and without a button."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list
from site_store import SiteStore
from slipway_cli.main import main
from strategy_lib.node_condition import NodeCondition
from tests.integration.api.pages.conftest import UI
from tests.integration.api.pages.test_actions import text_of
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site


def test_a_viewer_reads_what_an_update_would_do_and_sees_no_button(
    pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    nodes = [node("n1"), node("n2"), node("n3")]
    commit_design(store, "alpha", site(nodes, [group("control", ["n1"]), group("compute", ["n2", "n3"])]))
    viewer = pages["viewer"]
    answer = viewer.get("/sites/alpha/plan")
    said = text_of(answer)
    assert "What an update of alpha would do" in said
    assert "update_site erases 0 (0 redeployed, 0 released first, 0 removed), deploys 3," in said
    assert said.index("control") < said.index("compute")
    assert "No list of the provisioner was read yet" in said
    assert re.findall(r"<form|<button|class=\"button", answer.text) == []
    assert f'href="{UI}/sites/alpha/plan"' in viewer.get("/sites/alpha").text


def test_a_site_that_does_not_exist_has_no_plan(pages: dict[str, httpx.Client]) -> None:
    assert pages["viewer"].get("/sites/nowhere/plan").status_code == 404


@pytest.mark.usefixtures("dags", "connected")
def test_rule_11_page_command_and_preview_say_in_the_same_words_which_nodes_are_erased_first(
    pages: dict[str, httpx.Client],
    store: SiteStore,
    clients: dict[str, httpx.Client],
    origin: str,
    tokens: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    design = site([node(name) for name in ("n1", "n2", "n3", "n4")], [group("one"), group("free", ["n4"])])
    design = design.replace("name: one", "name: one\n    allow_redeploy: true")
    commit_design(store, "alpha", design)
    deployed = ListedNode("n4", NodeCondition.DEPLOYED, "Deployed", "on")
    failed = {
        name: ListedNode(name, NodeCondition.FAILED_DEPLOYMENT, "Failed deployment", "on") for name in ("n1", "n3")
    }
    keep_list(store, "alpha", "slipway_provisioner", {"n4": deployed, **failed})
    store.wishes.adopt("alpha", ("n4",), "tester")
    commit_design(store, "alpha", design.replace("cidr: 10.0.0.0/24", "cidr: 10.0.0.0/23"))
    sentence = "3 nodes would be erased and released first: n1, n3, n4"
    asked = {"name": "update_site"}
    answer = clients["user"].post("/api/v1.0/actions/plan?site=alpha", json=asked)
    assert sentence in [note["message"] for note in answer.json()["notes"]], answer.text
    assert sentence in text_of(pages["viewer"].get("/sites/alpha/plan"))
    assert clients["viewer"].get("/api/v1.0/sites/alpha/plan").json()["erased"] == ["n1", "n3", "n4"]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("SLIPWAY_URL", origin)
    monkeypatch.setenv("SLIPWAY_TOKEN", tokens["user"])
    said = CliRunner().invoke(main, ["plan", "update_site", "--site", "alpha"])
    assert sentence in said.output, said.output
