"""Units are carried out as systemd does, and hosts are cut off as by a pulled wire: what a cluster's tests stand on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_cli.embedded.processes import marked, members
from tests.support.hosts import hosts, may_have_namespaces
from tests.support.processes import do_and_be_killed, wait_until
from tests.support.units import Init, Service, Unit


@pytest.fixture
def init(tmp_path: Path) -> Iterator[Init]:
    with Init(tmp_path).running() as found:
        yield found


def _service(own: Path, script: str, **more: object) -> Service:
    return Service(Unit("one", ("/bin/sh", "-c", script), **more), own)  # type: ignore[arg-type]


def test_what_ends_is_started_again_and_what_is_stopped_is_not(init: Init, tmp_path: Path) -> None:
    service = _service(tmp_path, "sleep 1000 & echo started; wait", again_after=0.1)
    init.start(service)
    wait_until(lambda: service.log.read_text() == "started\n", "it runs")
    first = service.pid
    assert first is not None
    assert len(members([first])) == 2
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: service.log.read_text() == "started\n" * 2, "it was started again")
    assert members([first]) == [], "what it had started went with it"
    second = service.pid
    assert second is not None
    init.stop(service)
    assert (service.pid, service.wanted, members([second])) == (None, False, [])
    assert init.ended_by_itself() == [f"{tmp_path.name}/one (2)"]


def test_a_stop_waits_for_the_process_and_kills_it_after_its_time(init: Init, tmp_path: Path) -> None:
    ends = _service(tmp_path / "a", "trap 'echo ended; exit' TERM; echo ready; while :; do sleep 0.05; done")
    stays = _service(tmp_path / "b", "trap '' TERM; echo ready; while :; do sleep 0.05; done", stop_within=0.2)
    for service in (ends, stays):
        service.log.parent.mkdir()
        init.start(service)
        wait_until(lambda log=service.log: log.read_text() == "ready\n", "it is ready")  # type: ignore[misc]
        init.stop(service)
        assert service.pid is None
    assert (ends.log.read_text(), stays.log.read_text()) == ("ready\nended\n", "ready\n")


def test_a_service_has_its_files_variables_and_credentials_and_not_what_is_unset(init: Init, tmp_path: Path) -> None:
    (tmp_path / "more.env").write_text("# a comment\nA='from file'\nSECRET=x\n")
    (tmp_path / "password").write_text("correct horse")
    service = _service(
        tmp_path,
        "env; cat credentials/one/password; stat -c ' %a' credentials/one/password",
        environment={"A": "from unit", "B": "b"},
        files=(tmp_path / "more.env",),
        unset=("SECRET",),
        credentials={"word": tmp_path / "password", "password": tmp_path / "password"},
        folder=tmp_path,
        again_after=1000,
    )
    init.start(service)
    wait_until(lambda: "correct horse 400\n" in service.log.read_text(), "it has said all")
    said = service.log.read_text().splitlines()
    assert {"A=from file", "B=b"} <= set(said)
    assert not any(line.startswith(("SECRET=", "PYTEST")) for line in said)


def test_services_end_with_the_process_that_runs_them_however_that_ends(tmp_path: Path) -> None:
    def work() -> None:
        with Init(tmp_path).running() as init:
            # What it starts leaves its session, as servers do.
            init.start(service := _service(tmp_path, "setsid sleep 1000 & echo started; wait"))
            wait_until(lambda: service.log.exists() and "started" in service.log.read_text(), "it runs")
            wait_until(lambda: len(marked(tmp_path)) >= 2, "both run")
            os.kill(os.getpid(), signal.SIGKILL)

    do_and_be_killed(work)
    wait_until(lambda: marked(tmp_path) == [], "everything has ended")


@pytest.mark.skipif(not may_have_namespaces(), reason="only root can make network namespaces, with ip of iproute2")
def test_a_host_has_a_name_and_can_be_cut_off() -> None:
    with hosts("one", "two", apart=True) as at:
        named = subprocess.run(at["one"].inside(["hostname"]), capture_output=True, text=True, check=True)
        assert named.stdout == "one\n"
        served = [sys.executable, "-m", "http.server", "8080"]
        asked = ["python3", "-c", "import socket; socket.create_connection(('two', 8080), timeout=1)"]

        def answers() -> bool:
            return subprocess.run(at["one"].inside(asked), capture_output=True, check=False).returncode == 0

        with subprocess.Popen(at["two"].inside(served), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                wait_until(answers, "the other host answers")
                at["two"].cut()
                assert not answers()
                at["two"].join()
                at["two"].slow()
                wait_until(answers, "it answers again")
                at["two"].quicken()
                socket.create_connection((at["two"].address, 8080), timeout=20).close()
            finally:
                server.kill()
