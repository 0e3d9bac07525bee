"""Watchers are told of changes once at most, by threads that hold up nobody, and may only touch what they name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from site_engine.controller.controller import Controller
from site_engine.controller.notifications import LONG, TELL_EVERY, in_thread, tell_watchers
from site_engine.monitoring.metrics import WATCHER_CHANGES
from site_engine.trees.metric_samples import read_samples
from site_engine.watchers import DesignWatcher, Told
from site_store import BufferMode, Lease, OutboxRecord, SiteStore, StoreError
from strategy_lib.parsing.notifications import Target
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site
from tests.support.stores import check_results, new_store

SITE = "alpha"
GROUPS = [group("all", ["n1", "n2"])]
Begin = Callable[[Callable[[], None]], Callable[[], bool]]


class Killed(BaseException):
    """The process is gone."""


class Watched:
    """A store, the controller that leads, and what watchers were told."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.store = SiteStore.open(url)
        self.seconds = 0.0
        self.told: list[tuple[str, dict[str, str]]] = []
        self.sent: list[str] = []

    def controller(self, watchers: Mapping[str, DesignWatcher], begin: Begin | None = None) -> Controller:
        def send(_event: OutboxRecord, target: Target, _held: Lease) -> None:
            self.sent.append(target.name)

        def open_store(**given: object) -> SiteStore:
            return SiteStore.open(self.url, **given)  # type: ignore[arg-type]

        job = tell_watchers(watchers, send, open_store, begin or at_once)
        return Controller(self.store, "me", [job], lambda: self.seconds)

    def look(self, controller: Controller) -> None:
        self.seconds += TELL_EVERY
        controller.look()

    def note(self, told: Told) -> None:
        self.told.append((told.user, {str(one.key): one.change for one in told.changes}))

    def results(self) -> dict[tuple[str, ...], object]:
        return {one.labels: one.value for one in read_samples(self.store) if one.metric == WATCHER_CHANGES}


def at_once(work: Callable[[], None]) -> Callable[[], bool]:
    work()
    return lambda: False


@pytest.fixture
def watched() -> Iterator[Watched]:
    with new_store() as url:
        made = Watched(url)
        with made.store:
            yield made


def design(rack: str = "r1") -> str:
    return site([node("n1", rack), node("n2")], GROUPS)


def test_a_watcher_is_told_what_it_watches_and_of_each_change_once(watched: Watched) -> None:
    controller = watched.controller({"nodes": DesignWatcher(watched.note, ["node"])})
    commit_design(watched.store, SITE, design())
    for _ in range(3):
        watched.look(controller)
    commit_design(watched.store, SITE, design("r2"))
    commit_design(watched.store, SITE, site([node("n2")], [group("all", ["n2"])]))
    watched.store.wishes.touch(SITE, ["n2"], "bob")
    watched.look(controller)
    assert watched.told == [
        ("tester", {"node/n1": "added", "node/n2": "added"}),
        ("tester", {"node/n1": "changed"}),
        ("tester", {"node/n1": "removed"}),
        ("bob", {"node/n2": "touched"}),
    ]
    assert watched.results()["nodes", "told"] == 4


def test_what_nobody_watches_is_forgotten(watched: Watched) -> None:
    commit_design(watched.store, SITE, design())
    assert [event.kind for event in watched.store.outbox.newest(SITE)] == ["objects_changed"]
    watched.look(watched.controller({"other": DesignWatcher(watched.note, ["node/n9", "rack"])}))
    assert (watched.told, watched.store.outbox.newest(SITE)) == ([], [])


def test_an_error_is_counted_and_logged_without_secrets_and_never_tried_again(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []

    def fails(told: Told) -> None:
        calls.append(told.event)
        raise SystemExit("sesame-sesame is wrong")

    secret = "---\nschema: deckhand/Passphrase/v1\nmetadata: {name: p, storagePolicy: encrypted}\ndata: sesame-sesame\n"
    commit_design(watched.store, SITE, design() + secret)
    before = watched.store.nodes.of_site(SITE)
    controller = watched.controller(
        {"bad": DesignWatcher(fails, ["node"]), "good": DesignWatcher(watched.note, ["node"])}
    )
    for _ in range(3):
        watched.look(controller)
    assert (len(calls), len(watched.told)) == (1, 1)
    assert "Watcher bad failed at event" in caplog.text
    assert "sesame" not in caplog.text
    assert (watched.results()["bad", "failed"], watched.results()["good", "told"]) == (1, 1)
    assert watched.store.nodes.of_site(SITE) == before
    assert list(check_results(watched.store).values()) == [None]


def test_a_crash_while_it_is_told_repeats_nothing(watched: Watched) -> None:
    def killed(told: Told) -> None:
        watched.note(told)
        raise Killed

    commit_design(watched.store, SITE, design())
    with pytest.raises(Killed):
        watched.look(watched.controller({"w": DesignWatcher(killed, ["node"])}))
    watched.look(watched.controller({"w": DesignWatcher(watched.note, ["node"])}))
    assert len(watched.told) == 1
    assert watched.results()["w", "failed"] == 1


def test_a_watcher_that_does_not_come_back_holds_up_nobody_else(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    goes_on, begun, ended = threading.Event(), threading.Event(), threading.Semaphore(0)

    def hangs(told: Told) -> None:
        begun.set()
        goes_on.wait()
        watched.note(told)

    def begin(work: Callable[[], None]) -> Callable[[], bool]:
        def run() -> None:
            work()
            ended.release()

        return in_thread(run)

    watchers = {"hangs": DesignWatcher(hangs, ["node"]), "other": DesignWatcher(lambda _told: None, ["node"])}
    controller = watched.controller(watchers, begin)
    commit_design(watched.store, SITE, design())
    watched.look(controller)
    assert begun.wait(30)
    assert ended.acquire(timeout=30), "the other one has been told"
    commit_design(watched.store, SITE, design("r2"))
    while watched.seconds < LONG + 3 * TELL_EVERY:
        watched.look(controller)
    assert ended.acquire(timeout=30), "the other one has been told again"
    assert (watched.results()["other", "told"], watched.results()["hangs", "waiting"]) == (2, 1)
    assert caplog.text.count("Watcher hangs has not come back for 60 s") == 1
    goes_on.set()
    assert ended.acquire(timeout=30)
    assert [changes for _, changes in watched.told] == [
        {"node/n1": "added", "node/n2": "added"},
        {"node/n1": "changed"},
    ]


def test_rule_41_a_watcher_reads_both_touches_what_it_names_and_writes_nothing_else(watched: Watched) -> None:
    refused: list[str] = []
    seen: list[object] = []

    def touches(told: Told) -> None:
        store = told.store
        seen.extend([store.revisions.get(told.site).number, store.nodes.of_site(told.site)[0].name])
        for write in (
            lambda: store.wishes.touch(told.site, ["n2"], "watcher:w"),
            lambda: store.wishes.adopt(told.site, ["n1"], "watcher:w"),
            lambda: store.buffers.put(told.site, "a", "x", [], BufferMode.REJECT, "watcher:w"),
            lambda: store.events.add(told.site, "kind", "said"),
        ):
            with pytest.raises(StoreError) as caught:
                write()
            refused.append(str(caught.value))
        store.wishes.touch(told.site, ["n1"], "watcher:w")

    watchers = {
        "w": DesignWatcher(touches, ["host_profile"], ["node/n1"]),
        "nodes": DesignWatcher(watched.note, ["node"]),
    }
    commit_design(watched.store, SITE, design())
    controller = watched.controller(watchers)
    for _ in range(3):
        watched.look(controller)
    assert (len(refused), seen) == (4, [1, "n1"])
    assert watched.told[1:] == [("watcher:w", {"node/n1": "touched"})]
    assert {one.name: one.wanted_version for one in watched.store.nodes.of_site(SITE)} == {"n1": 2, "n2": 1}
