"""Several who change and commit one site's documents at once: one wins, nothing is lost, nothing is half done."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import event

from site_store import (
    ActionState,
    BufferChanged,
    BufferEmpty,
    BufferMode,
    BufferNotEmpty,
    NewAction,
    RevisionRecord,
    SiteBusy,
    SiteStore,
    Version,
)
from tests.integration.site_store.designs.desk import Desk, counts, written, yaml
from tests.integration.site_store.racing import CALLERS, at_once
from tests.integration.site_store.scenario import SITE, Scenario

ROUNDS = 3
FORK = multiprocessing.get_context("fork")


def test_of_many_who_commit_the_same_buffer_one_wins(store: SiteStore, stores: list[SiteStore]) -> None:
    desk = Desk(store)
    for number in range(1, ROUNDS + 1):
        record = desk.put("a", yaml(f"a{number}"))
        texts = written(store, Version.BUFFER)

        def commit(each: SiteStore, version: int, texts: dict[str, str]) -> RevisionRecord | Exception:
            try:
                return Desk(each).commit_texts(texts, buffer_version=version)
            except (BufferChanged, BufferEmpty) as lost:
                return lost

        ends = at_once([partial(commit, each, record.version, texts) for each in stores])
        made = [end for end in ends if isinstance(end, RevisionRecord)]
        assert [(one.number, one.created) for one in made] == [(number, True)]
        assert store.buffers.get(SITE).is_empty
        assert store.buffers.version(SITE) == record.version + 1
    assert len(store.revisions.newest(SITE)) == ROUNDS


@pytest.mark.parametrize("mode", list(BufferMode))
def test_of_many_who_put_a_collection_into_an_empty_buffer_one_is_first(
    store: SiteStore, stores: list[SiteStore], mode: BufferMode
) -> None:
    def put(each: SiteStore, number: int) -> bool:
        try:
            Desk(each).put("a", yaml(f"a{number}"), mode, if_version=0)
        except (BufferChanged, BufferNotEmpty):
            return False
        return True

    won = at_once([partial(put, each, number) for number, each in enumerate(stores)])
    assert sorted(won) == [False] * (CALLERS - 1) + [True]
    assert store.buffers.version(SITE) == 1
    assert written(store, Version.BUFFER) == {"a": yaml(f"a{won.index(True)}")}
    assert counts(store) == (1, 1)


def test_a_commit_beside_a_change_takes_all_of_it_or_nothing(store: SiteStore, stores: list[SiteStore]) -> None:
    desk = Desk(store)
    for number in range(ROUNDS):
        first, second = yaml(f"a{number}"), yaml(f"b{number}")
        version = desk.put("a", first).version

        texts = {**(written(store, Version.COMMITTED) if number else {}), "a": first}

        def commit(version: int, texts: dict[str, str]) -> bool:
            try:
                Desk(stores[0]).commit_texts(texts, buffer_version=version)
            except BufferChanged:
                return False
            return True

        def put(text: str) -> bool:
            return not Desk(stores[1]).put("b", text).is_empty

        calls: list[Callable[[], bool]] = [partial(commit, version, texts), partial(put, second)]
        committed = at_once(calls)[0]
        assert sorted(store.buffers.get(SITE).posted) == (["b"] if committed else ["a", "b"])
        if not store.buffers.get(SITE).is_empty:
            desk.commit()
        assert written(store, Version.COMMITTED) == {"a": first, "b": second}


def test_processes_that_each_bring_their_own_collection_lose_none(store: SiteStore) -> None:
    children = [FORK.Process(target=_bring, args=(store, f"c{number}", 3)) for number in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * 4
    assert written(store, Version.COMMITTED) == {f"c{number}": yaml(f"c{number}-2") for number in range(4)}
    revisions = store.revisions.newest(SITE, 100)
    assert [one.base for one in revisions] == [*range(len(revisions) - 1, 0, -1), None]
    assert store.buffers.get(SITE).is_empty
    # Each change of the buffer, and each commit, has a number of its own.
    assert store.buffers.version(SITE) == 4 * 3 + len(revisions)


def _bring(store: SiteStore, name: str, times: int) -> None:
    """Put a collection into the buffer and see it committed, by any thread; look again whenever another was faster."""
    desk = Desk(store, name)
    for number in range(times):
        text = yaml(f"{name}-{number}")
        desk.put(name, text)
        while not (store.sites.committed() and written(store, Version.COMMITTED).get(name) == text):
            try:
                desk.commit()
            except (BufferChanged, BufferEmpty):
                continue


def test_of_many_who_ask_for_an_action_on_a_site_one_gets_it(site: Scenario, stores: list[SiteStore]) -> None:
    def ask(each: SiteStore) -> str:
        try:
            return each.actions.create(
                NewAction("deploy_site", SITE, 1, {}, "ann", context_marker=None), exclusive=True
            ).id
        except SiteBusy as busy:
            return busy.owner.action_id

    for _ in range(ROUNDS):
        named = at_once([partial(ask, each) for each in stores])
        assert len(set(named)) == 1, "those who lose name the one that won"
        site.store.locks.acquire(named[0])
        assert {ask(each) for each in stores} == {named[0]}
        site.store.actions.close(named[0], ActionState.SUCCESS, "")
    assert len(site.store.actions.newest(SITE)) == ROUNDS


@pytest.mark.endurance
def test_a_kill_at_any_point_of_a_commit_leaves_the_old_or_the_new_state(store: SiteStore) -> None:
    desk = Desk(store)
    desk.save({"a": yaml("a1", "a2"), "b": yaml("b1")})
    desk.put("a", yaml("a3"))
    desk.put("b", "")
    old = _state(store)
    deaths = 0
    while _killed(partial(_commit, store), deaths):
        assert _state(store) == old
        deaths += 1
    assert deaths > 10, "every statement is a point, and the commit itself"
    assert written(store, Version.COMMITTED) == {"a": yaml("a3")}
    assert (store.buffers.get(SITE).is_empty, store.buffers.version(SITE), len(store.revisions.newest(SITE))) == (
        True,
        old[0] + 1,
        2,
    )
    assert store.revisions.get(SITE).text == "rendered"


@pytest.mark.endurance
def test_a_kill_at_any_point_of_a_change_leaves_the_old_or_the_new_state(store: SiteStore) -> None:
    Desk(store).put("a", yaml("a1", "a2"))
    old = _state(store)
    deaths = 0
    while _killed(partial(_replace, store), deaths):
        assert _state(store) == old
        deaths += 1
    assert deaths > 8
    assert written(store, Version.BUFFER) == {"b": yaml("b1")}
    assert (store.buffers.version(SITE), counts(store)) == (old[0] + 1, (1, 1))


def _commit(store: SiteStore) -> None:
    Desk(store).commit()


def _replace(store: SiteStore) -> None:
    Desk(store).put("b", yaml("b1"), BufferMode.REPLACE)


def _state(store: SiteStore) -> tuple[int, dict[str, str], list[int], tuple[int | None, int | None]]:
    numbers = [one.number for one in store.revisions.newest(SITE)]
    return store.buffers.version(SITE), written(store, Version.BUFFER), numbers, counts(store)


def _killed(work: Callable[[], None], point: int) -> bool:
    """Do it in a process of its own that is killed at this point; False when it was over before."""
    child = FORK.Process(target=_die_at, args=(work, point))
    child.start()
    child.join(30)
    assert child.exitcode in (0, -signal.SIGKILL)
    return child.exitcode != 0


def _die_at(work: partial[None], point: int) -> None:
    engine = work.args[0]._database.engine
    passed = 0

    def pass_by(*_anything: object) -> None:
        nonlocal passed
        if passed == point:
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    event.listen(engine, "before_cursor_execute", pass_by)
    event.listen(engine, "commit", pass_by)
    work()
