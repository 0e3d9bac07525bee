"""Rule 60: a store is upgraded while tasks of the version before have it open, and are about to submit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from site_store import SiteStore
from tests.support import submitting
from tests.support.processes import tied
from tests.support.releases import Release, releases
from tests.support.simulators import Simulator

_GROUP = "storage"


@contextmanager
def _tasks(tree: Path, url: str, simulator: str, ops: list[int]) -> Iterator[subprocess.Popen[str]]:
    """Start tasks of the version that stands in a tree, and have them stand right before what they submit."""
    command = tied(sys.executable, "-P", submitting.__file__, url, simulator, _GROUP, *map(str, ops))
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tasks:
        try:
            assert tasks.stdout is not None
            assert [tasks.stdout.readline().strip() for _ in range(len(ops) + 1)] == ["held"] * (len(ops) + 1)
            yield tasks
        finally:
            tasks.kill()


def _go_on(tasks: subprocess.Popen[str]) -> dict[str, str]:
    """Let tasks go on; return what became of each."""
    said, _ = tasks.communicate("go\n", timeout=120)
    assert tasks.returncode == 0
    return dict(json.loads(line) for line in said.splitlines() if line.startswith("["))


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[Simulator]:
    """A simulated Drydock that has done nothing yet."""
    running = Simulator(tmp_path)
    yield running
    running.stop()


@pytest.mark.endurance
@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_rule_60_old_tasks_submit_nothing_behind_the_upgrade_and_new_ones_once(
    release: Release, simulator: Simulator, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", Path(submitting.__file__).parents[2]
    release.unpack(old)
    url = release.restore()
    design = tmp_path / "beside.yaml"
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE operation SET design_ref = %s WHERE site = 'beside'", [design.as_uri()])
        found = "SELECT op FROM operation WHERE site = 'beside' AND status = 'intended' ORDER BY op"
        ops = [op for (op,) in connection.execute(found.encode())]
        rendered = "SELECT text FROM content c JOIN revision r ON r.design_id = c.id WHERE r.site = 'beside'"
        ((text,),) = connection.execute(rendered.encode()).fetchall()
        design.write_bytes(zlib.decompress(text))
    assert len(ops) == 2, "one that was never sent, and one that was, without an answer"
    with _tasks(old, url, simulator.url, ops) as tasks:
        assert f"upgraded from schema {release.schema}" in SiteStore.upgrade(url)
        told = _go_on(tasks)
    assert simulator.posts_of_tasks() == 0
    assert simulator.get("tasks") == []
    assert set(told) == {*map(str, ops), _GROUP}
    for said in told.values():
        assert said.startswith("StoreUnavailable: ")
        assert "this process is of an older Slipway: nothing was written; stop it and start the version" in said
    with SiteStore.open(url) as store:
        before = {op: store.operations.get(op).nodes for op in ops}
    with _tasks(new, url, simulator.url, ops) as tasks:
        told = _go_on(tasks)
    assert all("COMPLETE" in said for said in told.values()), told
    sent = simulator.submissions()
    assert sorted(nodes for _, nodes in sent) == sorted([*map(sorted, before.values()), ["s1"]])
    assert {action for action, _ in sent} == {"prepare_nodes"}
    assert simulator.double() == {}
    assert simulator.posts_of_tasks() == len(sent) == 3
