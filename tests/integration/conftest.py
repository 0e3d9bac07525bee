"""A real store, a real simulator process, and a group driver between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from site_store import SiteStore
from slipway_airflow.planning import make_plan
from strategy_lib.design import read_design
from strategy_lib.documents import load_documents
from tests.support.driving import Begin, Driving
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[Simulator]:
    """Start a simulator; its tasks take milliseconds."""
    simulator = Simulator(tmp_path)
    yield simulator
    simulator.stop()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SiteStore]:
    """Open a new store."""
    url = f"sqlite:///{tmp_path / 'slipway.db'}"
    SiteStore.upgrade(url)
    with SiteStore.open(url) as store:
        yield store


@pytest.fixture
def begin(store: SiteStore, simulator: Simulator, tmp_path: Path) -> Begin:
    """Commit a design and begin an action on it."""

    def begin(text: str, run_id: str = "run-1", site: str = "alpha") -> Driving:
        documents = load_documents(text, "site.yaml")
        design = read_design(documents)
        revision = commit_design(store, site, text, documents)
        path = tmp_path / f"{site}-{revision.number}.yaml"
        path.write_text(text)
        action = store.ensure_action("deploy_site", run_id, "deploy_site", site, revision.number, {}, "tester")
        store.acquire_site(action.id)
        plan = make_plan(design.strategy, design.nodes, ())
        store.set_wanted(site, revision.number, design.digests)
        store.save_plan(action.id, plan.groups, plan.done, design.digests, plan.other)
        return Driving(store, simulator, store.action(action.id), path.as_uri())

    return begin
