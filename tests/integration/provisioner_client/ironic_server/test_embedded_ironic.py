"""A real Ironic, installed from the lock: machines that fail where that is asked for, and no process that stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # comes with Airflow, without types
import pytest
import requests

from slipway_cli.embedded.processes import members
from tests.support.embedded_ironic import EmbeddedIronic
from tests.support.ironic_machines import IMAGE, Machines
from tests.support.postgres import running_server
from tests.support.processes import wait_until

pytestmark = [pytest.mark.endurance, pytest.mark.timeout(600)]

# What `slipway up` and the demo start, in a process that does nothing else.
PARENT = """
import sys, threading
from pathlib import Path
from slipway_cli.demo.simulated_provisioner import embedded_provisioner
from slipway_cli.embedded.settings import EmbeddedSettings
settings = EmbeddedSettings.from_environment(Path(sys.argv[1]), 0, {})
ironic = embedded_provisioner(settings, "simulator", 400, kind="ironic").start()
ironic.wait_ready()
print(ironic.pid, ironic.port, flush=True)
threading.Event().wait()
"""


def test_it_is_installed_fails_where_asked_and_no_process_of_it_stays(tmp_path: Path) -> None:
    with running_server(tmp_path) as (cluster, _):
        ironic = EmbeddedIronic(tmp_path, cluster.sockets, tmp_path / "ironic")
        began = time.monotonic()
        ironic.start("prepare:bad-clean", "deploy:bad-*")
        try:
            ironic.wait_ready()
            print(f"installed and ready after {time.monotonic() - began:.1f} s")
            listening = [c.laddr.ip for pid in ironic.processes() for c in psutil.Process(pid).net_connections("tcp")]
            assert set(listening) == {"127.0.0.1"}
            for auth in (None, ("slipway", "guessed")):
                assert requests.get(f"{ironic.url}/v1/nodes", auth=auth, timeout=30).status_code == 401
            fail_as_asked(Machines(ironic))

            # Its main process alone is killed in the middle of a deployment: the worker, which has the port, ends, too.
            ironic.play({"node": "bad-deploy", "phase": "deploy", "behaviour": "stuck"})
            Machines(ironic).go("bad-deploy", "active", "deploying")
            (worker,) = set(ironic.processes()) - {ironic.pid}
            os.kill(ironic.pid, signal.SIGKILL)
            assert ironic.process is not None
            ironic.process.wait()
            wait_until(lambda: not psutil.pid_exists(worker) and not ironic.is_listening(), "the worker ends", 2)

            # At the next start the machines are as they were; it ends in time when asked.
            ironic.start().wait_ready()
            assert Machines(ironic).state("good")["provision_state"] == "active"
            ended = time.monotonic()
            ironic.stop()
            assert (ironic.processes(), ironic.is_listening()) == ([], False)
            print(f"ended after {time.monotonic() - ended:.1f} s")
        finally:
            ironic.stop()

        # What has started it is killed, alone.
        with subprocess.Popen(
            [sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as parent:
            assert parent.stdout is not None
            pid, ironic.port = (int(word) for word in parent.stdout.readline().split())
            assert len(members({pid})) == 2
            parent.kill()
            parent.wait()
            wait_until(lambda: not members({pid}) and not ironic.is_listening(), "all end with the parent", 10)


def fail_as_asked(machines: Machines) -> None:
    for name in ("good", "bad-deploy", "bad-clean"):
        machines.enroll(name)
        machines.managed(name)
        machines.go(name, "inspect", "manageable")
    cleaned = machines.go("bad-clean", "provide", "clean failed", "available")
    assert "the disks could not be erased (simulated)" in cleaned["last_error"]
    assert (cleaned["maintenance"], cleaned["fault"]) == (True, "clean failure")
    for name in ("good", "bad-deploy"):
        machines.go(name, "provide", "available")
    failed = machines.go("bad-deploy", "active", "deploy failed", "active")
    cause = "Deploy step deploy.deploy failed: the image could not be written to the root disk (simulated)."
    assert failed["last_error"] == cause
    deployed = machines.go("good", "active", "deploy failed", "active")
    assert (deployed["provision_state"], deployed["power_state"]) == ("active", "power on")
    # What to deploy is checked as Ironic does it for a real machine.
    digest = "/instance_info/image_os_hash_value"
    machines.ask("PATCH", "/bad-deploy", [{"op": "remove", "path": digest}])
    refused = machines.ask("PUT", "/bad-deploy/states/provision", {"target": "active"})
    assert refused.status_code == 400
    assert "image_checksum" in refused.text
    machines.ask("PATCH", "/bad-deploy", [{"op": "add", "path": digest, "value": IMAGE["image_os_hash_value"]}])
