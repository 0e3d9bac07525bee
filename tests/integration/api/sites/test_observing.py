"""A controller follows a site on MAAS through the API: the cursor goes there and back, and is not in the store.

So a controller that takes over has no cursor. It begins with the whole list, and goes on by events from there.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import httpx
import pytest
import yaml

from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from site_engine.errors import EngineError
from site_engine.node_lists import last_list
from site_engine.node_states.leadership import SiteLeaders
from site_engine.node_states.polls import POLL_SECONDS
from site_store import Lease, SiteStore
from tests.integration.api.conftest import PASSWORD
from tests.integration.site_engine.node_states.test_leadership import AtOnce
from tests.support.maas_calls import MaasCaller, over_http
from tests.support.revisions import commit_design
from tests.support.simulators import MaasSimulator
from tests.support.sites import document

SITE = "fra1"
NAMES = ["m0001", "m0002", "m0003"]
DESIGN = yaml.safe_dump_all(
    [
        document("slipway/Site/v1", SITE, {"provisioner": "maas"}),
        *(document("slipway/Node/v1", name, {}) for name in NAMES),
    ],
    explicit_start=True,
)


@pytest.fixture
def maas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[MaasSimulator]:
    """Start a MAAS, and connect the server to it."""
    started = MaasSimulator(tmp_path, "--machines", "3")
    connection = {
        "conn_type": "maas",
        "host": f"{started.url}/MAAS",
        "password": started.key,
        "extra": {"pool": "default"},
    }
    monkeypatch.setenv(f"AIRFLOW_CONN_SLIPWAY_PROVISIONER_{SITE.upper()}", json.dumps(connection))
    yield started
    started.stop()


class Controllers:
    """Controllers of one store, which ask the API as the command `slipway controller` does; the test makes the time."""

    def __init__(self, store: SiteStore, slipway: SlipwayClient) -> None:
        self.store, self.slipway = store, slipway
        self.now = 0.0
        self.given: list[str | None] = []
        self.pool: ThreadPoolExecutor = AtOnce()

    def one(self, owner: str) -> SiteLeaders:
        """Return one of them."""
        # The leases are on the real clock: however slow this machine is, none runs out.
        return SiteLeaders(self.store, owner, self._observe, 3600.0, monotonic=lambda: self.now)

    def asks(self, leaders: SiteLeaders) -> str | None:
        """Have one look until it has asked once more; return the cursor that it gave."""
        before = len(self.given)
        while len(self.given) == before:
            self.now += POLL_SECONDS
            leaders.look(self.pool)
        return self.given[-1]

    def _observe(self, site: str, held: Lease, cursor: str | None, since: datetime) -> str | None:
        self.given.append(cursor)
        return self.slipway.observe(site, held, cursor, since)


@pytest.fixture
def controllers(store: SiteStore, origin: str) -> Iterator[Controllers]:
    commit_design(store, SITE, DESIGN)
    with contextlib.closing(ApiSession(origin, "user", PASSWORD)) as session:
        yield Controllers(store, SlipwayClient(session))


def listed(maas: MaasSimulator) -> int:
    """Return how many machines MAAS has listed so far."""
    return int(maas.get("cost")["kinds"]["list"]["machines"])


def words(store: SiteStore) -> dict[str, str]:
    """Return what the list that is kept says of each node."""
    kept = last_list(store, SITE)
    assert kept is not None
    return {name: node.status_name for name, node in kept.nodes.items()}


def test_a_leader_goes_on_by_events_and_one_that_takes_over_begins_with_the_whole_list(
    maas: MaasSimulator, controllers: Controllers, store: SiteStore, viewer: httpx.Client
) -> None:
    first, second = controllers.one("first"), controllers.one("second")
    assert controllers.asks(first) is None
    assert (listed(maas), words(store)) == (3, dict.fromkeys(NAMES, "New"))
    assert controllers.asks(first) is not None
    assert listed(maas) == 3, "nothing has happened"

    other = MaasCaller(over_http(maas.url))
    other.act("m0002", "commission")
    other.wait("m0002", "Ready")
    before = listed(maas)
    controllers.asks(first)
    assert listed(maas) == before + 1, "the machine that its events tell of"
    assert words(store) == {"m0001": "New", "m0002": "Ready", "m0003": "New"}

    # A list that somebody else has had read meanwhile is newer, and the cursor counts for it, too.
    assert viewer.get("/api/v1.0/site_statuses", params={"site": SITE}).status_code == 200
    before = listed(maas)
    assert controllers.asks(first) is not None
    assert listed(maas) == before

    lost = first._led[SITE].held
    first.run(lambda _: True)
    assert first.led() == ()
    before = listed(maas)
    assert controllers.asks(second) is None, "the cursor was with the first one"
    assert listed(maas) == before + 3
    assert words(store)["m0002"] == "Ready"
    assert controllers.asks(second) is not None
    assert listed(maas) == before + 3
    with pytest.raises(EngineError, match="only the controller that leads"):
        controllers.slipway.observe(SITE, lost, controllers.given[-1])
