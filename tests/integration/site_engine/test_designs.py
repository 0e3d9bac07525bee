"""Whether the provisioner can use a design and sees all of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.errors import DesignUnreadable
from provisioner_client.http_settings import HttpSettings, RetryPolicy
from site_engine.designs import ADDRESSES, INGESTER, DesignCheck, check_design
from tests.support.file_server import FileServer
from tests.support.simulators import Simulator
from tests.support.sites import node, site

NAMES = ["n1", "n2"]
SITE = site([node(name) for name in NAMES], []).encode()
Check = Callable[..., DesignCheck]


@pytest.fixture
def server() -> Iterator[FileServer]:
    """Slipway's route for designs."""
    with FileServer() as server:
        server.content = SITE
        yield server


@pytest.fixture(scope="module")
def _simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    simulator = Simulator(tmp_path_factory.mktemp("s"), speed=50_000)
    yield simulator
    simulator.stop()


@pytest.fixture
def check(_simulator: Simulator, server: FileServer) -> Iterator[Check]:
    """Have a simulated Drydock check the design."""
    _simulator.post("reset")
    yield from _checker(_simulator, server)


def _checker(simulator: Simulator, server: FileServer) -> Iterator[Check]:
    drydock = DrydockProvisioner(
        simulator.url, http=HttpSettings(retry=RetryPolicy(first_wait=0.01), sleep=lambda _: None)
    )

    def run(fetch: int = 0, patience: float = 60.0) -> DesignCheck:
        return check_design(drydock, lambda n: f"{server.url}/d/token-of-it?n={n}", "", NAMES, fetch, patience=patience)

    yield run
    drydock.close()


def test_a_good_design_is_fetched_once_however_often_it_is_checked(check: Check, server: FileServer) -> None:
    for _ in range(3):
        assert (found := check()).fetch == 0
        assert (found.validation.valid, found.missing, found.shortage) == (True, (), "")
    assert server.asked == ["/d/token-of-it?n=0"]


def test_after_a_503_in_the_very_fetch_another_address_is_used_and_kept(check: Check, server: FileServer) -> None:
    server.refuse(503, b'{"detail": "no worker is free"}')
    found = check()
    assert (found.validation.valid, found.missing) == (True, ())
    assert found.fetch > 0
    assert check(found.fetch) == found
    assert server.asked == ["/d/token-of-it?n=0", f"/d/token-of-it?n={found.fetch}"]


def test_an_address_that_shows_too_few_nodes_is_left(check: Check, server: FileServer) -> None:
    server.refuse(200, site([node("n1")], []).encode())
    assert check().missing == ()


def test_what_is_missing_is_named(check: Check, server: FileServer) -> None:
    server.content = site([node("n1"), node("n3")], []).encode()
    found = check()
    assert found.missing == ("n2",)
    assert "only 1 of the design's 2 nodes, and not: n2" in found.shortage
    assert len(server.asked) == ADDRESSES


def test_where_nothing_can_be_fetched_a_few_addresses_are_tried(check: Check, server: FileServer) -> None:
    server.refuse(502, b"<html>: [", count=ADDRESSES)
    with pytest.raises(DesignUnreadable):
        check()
    assert len(server.asked) == ADDRESSES
    assert check().missing == (), "the next check does not end at what is remembered of this one"
    assert len(set(server.asked)) == ADDRESSES + 1


def test_with_no_patience_one_address_is_tried(check: Check, server: FileServer) -> None:
    server.refuse(502, b"<html>: [", count=9)
    with pytest.raises(DesignUnreadable):
        check(patience=-1.0)
    assert len(server.asked) == 1


def test_a_refusal_is_an_answer_and_asked_for_once(check: Check, server: FileServer) -> None:
    server.content = SITE.replace(b"host_profile: compute", b"host_profile: gone")
    found = check()
    assert (found.validation.valid, found.shortage) == (False, "")
    assert len(server.asked) == 1


def test_an_ingester_that_finds_nothing_is_named(tmp_path: Path, server: FileServer) -> None:
    simulator = Simulator(tmp_path, "--ingester", "yaml", speed=50_000)
    try:
        for check in _checker(simulator, server):
            found = check()
            assert (found.validation.valid, found.missing) == (True, ("n1", "n2"))
            assert INGESTER in found.shortage
    finally:
        simulator.stop()
