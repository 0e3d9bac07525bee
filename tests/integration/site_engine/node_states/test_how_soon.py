"""How soon the controller's loop sees what becomes of a node, in polls and in seconds of a clock that the test holds.

Nothing else is at work, and nothing takes time: what is left is the loop's own order and pauses.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

import pytest
import yaml

from site_engine.node_states import leadership as leaders_file
from site_engine.node_states.leadership import SiteLeaders
from site_engine.node_states.polls import POLL_SECONDS
from site_engine.trees.nodes import site_nodes
from site_store import Lease, SiteStore
from tests.integration.site_engine.node_states.drifting import deploy
from tests.integration.site_engine.node_states.test_leadership import AtOnce
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site
from tests.support.stores import new_store

GRACE = 8
"""Seconds of the transition time: beyond the time between two versions."""
MARGIN = 2
"""Seconds beyond polls: two looks, the quiet time, and another look."""
LONGEST = 100
"""Seconds after which it is ended in any case."""


class Turn(NamedTuple):
    """How things stand after a turn of the loop: seconds and polls since the node went dark, and what is said of it."""

    seconds: float
    polls: int
    judged: str
    published: str
    standing: str


class Site:
    """A site of one deployed node; it loses its power just after a poll, so that the next one is the first to see."""

    def __init__(self, store: SiteStore, clock: FakeClock) -> None:
        self.store, self.clock = store, clock
        self.dark: float | None = None
        self.polls = 0
        text = site([node("n1")], [group("g", ["n1"])], region=SITE)
        settings = document("slipway/SiteSettings/v1", "settings", {"node_states": {"transition_time": GRACE}})
        commit_design(store, SITE, text + yaml.safe_dump(settings, explicit_start=True))
        deploy(store, "n1")
        self.began = self.now()
        self.turns: list[Turn] = []

    def now(self) -> float:
        return self.clock().timestamp()

    def observe(self, name: str, _held: Lease, _cursor: str | None, _since: datetime) -> str | None:
        power = "on" if self.dark is None else "off"
        said = {"n1": {"status": "Deployed", "power": power, "condition": "deployed"}}
        self.store.provisioner_lists.save(name, "c", said)
        if self.dark is not None:
            self.polls += 1
        elif self.now() > self.began:
            # The second poll: its list is as good as the first one's.
            self.dark = self.now()
        return None

    def pause(self, seconds: float) -> bool:
        if self.dark is not None:
            newest = self.store.site_views.body(SITE)
            assert newest is not None
            judged = str(self.store.site_views.memory(SITE)["n1"].view.state)
            published = json.loads(newest[1])["nodes"]["n1"]["state"]
            (row,) = site_nodes(self.store, SITE)["nodes"]
            self.turns.append(Turn(self.now() - self.dark, self.polls, judged, published, row["status"]))
        self.clock.move(seconds)
        return bool(self.turns and self.turns[-1].published == "down") or self.now() - self.began > LONGEST

    def first(self, **facts: str) -> Turn:
        """Return the first turn after which this was said."""
        return next(turn for turn in self.turns if facts.items() <= turn._asdict().items())


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Site:
    clock = FakeClock()

    def at_once(*_args: Any, **_options: Any) -> AtOnce:
        return AtOnce()

    with new_store() as url, SiteStore.open(url, clock) as store, pytest.MonkeyPatch.context() as to:
        to.setattr(leaders_file, "ThreadPoolExecutor", at_once)
        made = Site(store, clock)
        SiteLeaders(store, "me", made.observe, monotonic=made.now).run(made.pause)
    return made


def test_rules_49_and_56_a_state_is_seen_with_the_next_poll_and_a_drift_with_the_one_after(here: Site) -> None:
    assert {turn.judged for turn in here.turns if not turn.polls} == {"up"}, "nobody has looked yet"
    judged, published = here.first(judged="maintenance"), here.first(published="maintenance")
    drifted = here.first(standing="error")
    assert [judged.polls, published.polls, drifted.polls] == [1, 1, 2]
    assert POLL_SECONDS <= judged.seconds <= published.seconds <= POLL_SECONDS + MARGIN
    assert 2 * POLL_SECONDS <= drifted.seconds <= 2 * POLL_SECONDS + MARGIN


def test_rule_49_the_end_of_the_grace_period_is_seen_by_the_clock_and_not_by_a_poll(here: Site) -> None:
    begins = here.first(judged="maintenance").seconds
    judged, published = here.first(judged="down"), here.first(published="down")
    assert begins + GRACE <= judged.seconds <= published.seconds <= begins + GRACE + MARGIN


def test_each_poll_is_followed_by_a_look_at_what_it_found(here: Site) -> None:
    second = next(number for number, turn in enumerate(here.turns) if turn.polls)
    # The list is kept in one turn, and taken in with the next.
    assert [here.turns[number].judged for number in (second, second + 1)] == ["up", "maintenance"]
