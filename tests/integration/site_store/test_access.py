"""Rule 41: what the store lets a person, a step and a watcher do; every cell is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from site_store import AccessRefused, BufferMode, SiteStore
from strategy_lib.goals.actors import Access, Actor, may
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design

DESIGN = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n"
OTHER = DESIGN.replace("{}", "{rack: r1}")
#: What each call does to the site.
CALLS: dict[str, tuple[Access, Callable[[SiteStore], object]]] = {
    "the newest revision": (Access.READ_DESIGN, lambda store: store.revisions.get(SITE)),
    "the buffer": (Access.READ_DESIGN, lambda store: store.buffers.get(SITE)),
    "the objects": (Access.READ_DESIGN, lambda store: store.objects.of_site(SITE)),
    "what was done": (Access.READ_FEEDBACK, lambda store: store.nodes.of_site(SITE)),
    "a commit": (Access.WRITE_DESIGN, lambda store: commit_design(store, SITE, OTHER)),
    "to the buffer": (Access.WRITE_DESIGN, lambda store: store.buffers.put(SITE, "a", "x", [], BufferMode.REJECT, "x")),
    "discard": (Access.WRITE_DESIGN, lambda store: store.buffers.discard(SITE, "ann")),
    "touch": (Access.TOUCH, lambda store: store.wishes.touch(SITE, ["n1"], "ann")),
    "adopt": (Access.WRITE_FEEDBACK, lambda store: store.wishes.adopt(SITE, ["n1"], "ann")),
}


@pytest.fixture
def opened(url: str, clock: FakeClock) -> Iterator[Callable[[Actor | None], SiteStore]]:
    stores: list[SiteStore] = []

    def open_as(actor: Actor | None) -> SiteStore:
        stores.append(SiteStore.open(url, now=clock, actor=actor))
        return stores[-1]

    commit_design(open_as(None), SITE, DESIGN)
    yield open_as
    for store in stores:
        store.close()


@pytest.mark.parametrize("actor", [None, Actor.STEP, Actor.WATCHER, Actor.POLICY])
def test_rule_41_every_cell(opened: Callable[[Actor | None], SiteStore], actor: Actor | None) -> None:
    store = opened(actor)
    for name, (access, call) in CALLS.items():
        if access in (Access.READ_DESIGN, Access.READ_FEEDBACK) or actor is None or may(actor, access):
            call(store)
        else:
            with pytest.raises(AccessRefused, match=f"a {actor} may not"):
                call(store)
            if access is Access.WRITE_DESIGN:
                assert store.revisions.get(SITE).number == 1, name
                assert store.buffers.get(SITE).is_empty, name
