"""Rule 60: an upgrade beside those who write, by a made-up next version that is rolling or stops the world."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from alembic.config import Config
from click.testing import CliRunner
from sqlalchemy import Connection, text

import site_store
from site_store import NewAction, SchemaNotCurrent, SiteStore, StoreUnavailable
from site_store.__main__ import main
from site_store.sql import fence, schema_version
from site_store.sql.fence import CURRENT
from site_store.status.processes import ProcessNote
from tests.support.processes import tied
from tests.support.releases import Release, releases

NEXT = f"{int(CURRENT) + 1:04d}"

# It takes half a second, and keeps how many events there were at its begin and at its end.
_STEP = f'''
from alembic import op

revision, down_revision, branch_labels, depends_on = "{NEXT}", "{CURRENT}", None, None
ROLLING = {{rolling}}


def upgrade():
    op.execute("CREATE TABLE seen AS SELECT count(*) AS events FROM event")
    op.execute("SELECT pg_sleep(0.5)")
    op.execute("INSERT INTO seen SELECT count(*) FROM event")
'''

# A process that has the store open, and writes until it is refused.
_WRITER = """
import sys
from site_store import SiteStore, StoreError
with SiteStore.open(sys.argv[1]) as store:
    try:
        while True:
            store.events.add("north", "kind", "said")
            print("written", flush=True)
    except StoreError as error:
        print(type(error).__name__, error, flush=True)
"""

Upgraded = Callable[[bool], None]


@pytest.fixture(autouse=True)
def _no_airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Airflow to ask for its tasks: that of these tests has runs of others."""
    monkeypatch.delenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Upgraded:
    """Make this process one of the next version, whose step is rolling or not."""

    def become(rolling: bool) -> None:
        folder = tmp_path / "migrations"
        shutil.copytree(Path(site_store.__file__).parent / "migrations", folder)
        (folder / "versions" / f"v{NEXT}_next.py").write_text(_STEP.format(rolling=rolling))
        own = schema_version._config

        def config() -> Config:
            made = own()
            made.set_main_option("script_location", str(folder))
            return made

        monkeypatch.setattr(schema_version, "_config", config)
        monkeypatch.setattr(fence, "CURRENT", NEXT)

    return become


@contextmanager
def _writers(url: str, number: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Start processes of this version; give them once each has written."""
    command = tied(sys.executable, "-c", _WRITER, url)
    with ExitStack() as stack:
        started = [
            stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) for _ in range(number)
        ]
        for one in started:
            stack.callback(one.kill)
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "written\n"
        yield started


def _numbers(url: str, query: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [number for (number,) in connection.execute(query.encode())]


def test_nobody_writes_during_an_upgrade_and_older_code_not_behind_it(empty_url: str, next_version: Upgraded) -> None:
    SiteStore.upgrade(empty_url)
    with _writers(empty_url, 3) as writers:
        next_version(False)
        assert f"from schema {CURRENT} to schema {NEXT}" in SiteStore.upgrade(empty_url)
        told = [writer.communicate(timeout=60)[0].splitlines()[-1] for writer in writers]
    at_begin, at_end = _numbers(empty_url, "SELECT events FROM seen ORDER BY events")
    assert at_begin == at_end > 0
    assert _numbers(empty_url, "SELECT count(*) FROM event") == [at_end]
    for said in told:
        assert said.startswith("SchemaNotCurrent ")
        assert f"of schema {NEXT} or newer may write there; this process is of schema {CURRENT}" in said
    with SiteStore.open(empty_url) as store:
        store.events.add("north", "kind", "by the next version")


def test_older_code_goes_on_beside_the_next_version_behind_a_rolling_upgrade(
    empty_url: str, next_version: Upgraded, monkeypatch: pytest.MonkeyPatch
) -> None:
    SiteStore.upgrade(empty_url)
    with _writers(empty_url, 2) as writers:
        next_version(True)
        SiteStore.upgrade(empty_url)
        at_begin, at_end = _numbers(empty_url, "SELECT events FROM seen ORDER BY events")
        assert at_begin == at_end
        with SiteStore.open(empty_url) as store:
            store.events.add("north", "kind", "by the next version")
        monkeypatch.setattr(fence, "CURRENT", CURRENT)
        # A process of the older version that begins only now.
        with SiteStore.open(empty_url) as store:
            store.events.add("north", "kind", "by the older version")
        count = _numbers(empty_url, "SELECT count(*) FROM event")[0]
        while _numbers(empty_url, "SELECT count(*) FROM event")[0] < count + 10:
            assert [writer.poll() for writer in writers] == [None, None]
            time.sleep(0.05)


def test_an_upgrade_waits_for_a_transaction_under_way_and_has_what_it_wrote(
    empty_url: str, next_version: Upgraded
) -> None:
    SiteStore.upgrade(empty_url)
    begun, opened = threading.Event(), SiteStore.open(empty_url)

    def slow(tx: Connection) -> None:
        begun.set()
        tx.execute(text("SELECT pg_sleep(0.7)"))
        tx.execute(text("INSERT INTO event (at, site, kind, message, data) VALUES (now(), 'north', 'k', 'm', '{}')"))

    writer = threading.Thread(target=opened._database.write, args=(slow,))
    writer.start()
    begun.wait()
    next_version(False)
    SiteStore.upgrade(empty_url)
    writer.join()
    opened.close()
    assert _numbers(empty_url, "SELECT events FROM seen") == [1, 1]


def test_who_keeps_an_upgrade_waiting_is_named(
    empty_url: str, next_version: Upgraded, monkeypatch: pytest.MonkeyPatch
) -> None:
    SiteStore.upgrade(empty_url)
    next_version(False)
    monkeypatch.setattr(schema_version, "LOCK_SECONDS", 0.3)
    with psycopg.connect(empty_url, application_name="a long report") as held:
        held.execute(f"SELECT slipway_may_write('{CURRENT}')".encode())
        with pytest.raises(StoreUnavailable, match="was not upgraded: others were at work in it") as caught:
            SiteStore.upgrade(empty_url)
        said = str(caught.value)
        assert re.search(
            r"process \d+ \(a long report, user \w+, from this host: idle in transaction for \d+ s\)", said
        )
        assert f"SELECT pg_terminate_backend({held.info.backend_pid})" in said
    with pytest.raises(SchemaNotCurrent, match=f"at schema {CURRENT}, this Slipway needs {NEXT}"):
        SiteStore.open(empty_url)
    assert f"to schema {NEXT}" in SiteStore.upgrade(empty_url)


def test_the_command_shows_who_is_at_work_and_refuses(empty_url: str, next_version: Upgraded) -> None:
    run = CliRunner().invoke
    url = empty_url
    SiteStore.upgrade(url)
    with SiteStore.open(url) as store:
        action = store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "north", None, {}, "ann"))
        store.steps.begin(action.id, "validate", 1)
        store.processes.note(ProcessNote("c1", "controller", "0.9.1", CURRENT, "ctl1", 4711, 30.0, {}))
        store.processes.note(ProcessNote("w1", "worker", "0.9.1", CURRENT, "worker1", 17, None, {}))
    next_version(False)
    refused = run(main, ["upgrade", "--url", url])
    assert refused.exit_code == 1
    assert f"- action {action.id}: deploy_site of site north, pending" in refused.output
    assert re.search(r"- controller of Slipway 0.9.1 on ctl1 \(process 4711\), last sign \d+ s ago", refused.output)
    assert re.search(r"\(worker of Slipway 0.9.1 on worker1 \(process 17\), last sign \d+ s ago\)", refused.output)
    assert "tasks of these actions, as the store knows them: 1 running" in refused.output
    assert "(Airflow was not asked for its tasks: this environment does not name its database" in refused.output
    assert "1. stop controllers, workers" in refused.output
    assert f"nothing was upgraded, schema {CURRENT} stays" in refused.output
    done = run(main, ["upgrade", "--url", url, "--while-running"])
    assert (done.exit_code, f"to schema {NEXT}" in done.output) == (0, True)
    again = run(main, ["upgrade", "--url", url])
    assert (again.exit_code, "At work" in again.output, f"schema {NEXT} is current" in again.output) == (0, False, True)


def test_the_command_goes_on_with_a_rolling_upgrade(empty_url: str, next_version: Upgraded) -> None:
    SiteStore.upgrade(empty_url)
    with SiteStore.open(empty_url) as store:
        store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "north", None, {}, "ann"))
    next_version(True)
    done = CliRunner().invoke(main, ["upgrade", "--url", empty_url])
    assert done.exit_code == 0
    assert "may go on beside the new one" in done.output
    assert f"to schema {NEXT}" in done.output


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_an_upgrade_from_a_release_names_its_open_actions(release: Release) -> None:
    url = release.restore()
    refused = CliRunner().invoke(main, ["upgrade", "--url", url])
    assert refused.exit_code == 1
    for site in ("running", "beside", "failed", "pruned"):
        assert re.search(rf"- action \w+: \w+ of site {site}, (running|pending)", refused.output)
    assert "of them only the leading controller is known" in refused.output


def test_each_step_says_whether_it_is_rolling() -> None:
    found = schema_version.steps()
    assert [step.schema for step in found] == sorted({step.schema for step in found})
    known = {step.schema: step.rolling for step in found}
    assert known | {"0100": False, "0101": False} == known
