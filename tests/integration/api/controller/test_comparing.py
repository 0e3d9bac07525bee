"""Slipway's API compares the store with what a site's provisioner shows, for the controller that leads (rule 61)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import httpx
import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.drydock.provisioner import DrydockProvisioner
from site_engine.controller.controller import NAME
from site_store import SiteStore
from strategy_lib.phase import Phase
from tests.integration.api.airflow_runs import DESIGN, commit
from tests.support.simulators import Simulator

pytestmark = pytest.mark.usefixtures("dags")


def test_rule_61_a_task_that_the_store_does_not_know_holds_all(
    user: httpx.Client, store: SiteStore, connected: Simulator, tmp_path: Path
) -> None:
    commit(store)
    held = store.leases.take(NAME, "me", 600)
    assert held is not None

    def compare() -> str | None:
        body = {"owner": "me", "epoch": held.epoch, "secret": held.secret, "compare": True}
        answer = user.post("/api/v1.0/sites/default/unfinished", json=body).raise_for_status().json()
        assert (answer["looked"], answer["over"]) == (0, 0)
        problem: str | None = answer["problem"]
        return problem

    assert compare() is None, "it is new"
    assert store.home.held() is None
    design = tmp_path / "design.yaml"
    design.write_text(DESIGN)
    reference = "slipway-{}-01M8J7TQMDR5E8R7BAVGWE91JH-9"
    with closing(DrydockProvisioner(connected.url)) as drydock:
        drydock.submit(Phase.VERIFY_SITE, DesignSource(design.as_uri()), None, reference.format("another3"))
        assert compare() is None
        assert store.home.held() is None
        drydock.submit(Phase.VERIFY_SITE, DesignSource(design.as_uri()), None, reference.format("unittest"))
    assert compare() is None
    assert "this store was put back" in str(store.home.held())
