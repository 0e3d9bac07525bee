"""How many requests a deployment sends to its provisioner, for each node and minute: Drydock, MAAS and Ironic.

Run it as `python -m tests.bench.bench_requests [--poll SECONDS] [--speed TIMES]`: the 40 nodes of the example sites are
prepared and deployed, each phase as one provisioner task that is asked about as an Airflow task does. Prints requests
by kind. Drydock and MAAS are simulated, Ironic is a real one. For MAAS they are weighed with what they cost a real one
in CPU time; what commission, allocate and deploy cost is the machines' own, and the rest, the overhead, must not be
more. Exits 1 when it is.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from design_rendering.reading.documents import load_documents
from design_rendering.rendering import design_text, render
from provisioner_client.connection import ConnectionValues
from provisioner_client.designs import DesignSource
from provisioner_client.factory import FACTORY
from provisioner_client.protocol import Provisioner, TaskRef, TaskState
from provisioner_client.redacting import nothing_is_secret
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector
from tests.bench.harness import ROOT, options
from tests.support.embedded_ironic import running_ironic
from tests.support.ironic_way import IronicWay
from tests.support.simulators import MaasProcess, SimulatorProcess

SITES = ROOT / "slipway_cli" / "data"
OWN = ("commission", "allocate", "deploy")


def main() -> int:
    """Measure, print, judge."""
    given = options(__doc__, poll=30.0, speed=120.0)
    drydock = SITES / "example_site.yaml"
    maas = SITES / "example_maas_site.yaml"
    speed = ("--speed", str(given.speed))
    _measure(SimulatorProcess("--site", str(drydock), *speed), "drydock", drydock, given.poll, given.speed)
    own, overhead = _measure(MaasProcess("--site", str(maas), *speed), "maas", maas, given.poll, given.speed)
    _measure_ironic(SITES / "example_ironic_site.yaml", given.poll, given.speed)
    missed = overhead > own
    print(f"MAAS: the machines' own {own:.1f} s of its CPU, overhead {overhead:.1f} s" + ("  MISSED" if missed else ""))
    return int(missed)


def _measure(process: SimulatorProcess, kind: str, site: Path, poll: float, speed: float) -> tuple[float, float]:
    """Prepare and deploy all nodes, and print what was sent. Returns seconds of MAAS's CPU: own, and overhead."""
    process.start()
    try:
        key = MaasProcess.key if kind == "maas" else ""
        host = f"{process.url}/MAAS" if kind == "maas" else process.url
        extra = {"pool": "default"} if kind == "maas" else {}
        began = process.get("state")["now"]
        nodes = _deploy(ConnectionValues(kind, "bench", host, password=key, extra=extra), site, poll / speed)
        minutes = (process.get("state")["now"] - began) * speed / 60
        requests = sum(not one["path"].startswith("/_sim") for one in process.get("journal"))
        _tell(kind, nodes, minutes, requests)
        return _cost(process, nodes) if kind == "maas" else (0.0, 0.0)
    finally:
        process.stop()


def _measure_ironic(site: Path, poll: float, speed: float) -> None:
    """Do the same on a real Ironic, whose machines are enrolled besides, and print what was sent by kind."""
    with tempfile.TemporaryDirectory() as folder, running_ironic(Path(folder)) as ironic:
        ironic.play(speed=speed)
        way = IronicWay(ironic.url)
        extra = {"resource_class": "bench"}
        connection = ConnectionValues(
            "ironic", "bench", way.url, login="slipway", password=ironic.password, extra=extra
        )
        began = time.monotonic()
        nodes = _deploy(connection, site, poll / speed)
        minutes = (time.monotonic() - began) * speed / 60
        way.stop()
    _tell("ironic", nodes, minutes, len(way.journal))
    for kind, count in Counter(_kind_of(one.method, one.path) for one in way.journal).most_common():
        print(f"  {kind:30} {count:5} requests")


def _kind_of(method: str, path: str) -> str:
    """Return what a request to Ironic is about."""
    parts = path.split("?")[0].split("/")
    return " ".join([method, "/".join(part if place != 3 else "NODE" for place, part in enumerate(parts))])


def _deploy(connection: ConnectionValues, site: Path, poll: float) -> int:
    """Prepare and deploy all nodes of a site; return how many these are."""
    provisioner = FACTORY.connect(connection, nothing_is_secret)
    text = design_text(render(load_documents(site.read_text(), site.name)))
    design = DesignSource(f"file://{site}", lambda: text)
    assert provisioner.validate_design(design).valid
    nodes = sorted(provisioner.select_nodes(design, [Selector()]))
    for op, phase in enumerate((Phase.PREPARE, Phase.DEPLOY)):
        _carry_out(provisioner, phase, design, nodes, f"slipway-bench-{op}", poll)
    provisioner.close()
    return len(nodes)


def _tell(kind: str, nodes: int, minutes: float, requests: int) -> None:
    print(
        f"{kind:8} {nodes} nodes in {minutes:.0f} simulated minutes: {requests} requests, "
        f"{requests / nodes:.1f} for each node, {requests / nodes / minutes:.3f} for each node and minute"
    )


def _carry_out(
    provisioner: Provisioner, phase: Phase, design: DesignSource, nodes: Sequence[str], reference: str, poll: float
) -> None:
    """Do what an Airflow task does: read the list, submit, look until it is over, gather what proves it."""
    provisioner.nodes()
    task = provisioner.submit(phase, design, nodes, reference, sent_ago=None)
    ref = TaskRef(task, phase, reference, design)
    while provisioner.task(ref).state is not TaskState.COMPLETE:
        time.sleep(poll)
    evidence = provisioner.evidence(ref, nodes)
    good = evidence.reported_success | evidence.child_success
    assert len(good) == len(nodes), evidence


def _cost(process: SimulatorProcess, nodes: int) -> tuple[float, float]:
    found = process.get("cost")
    for kind, one in found["kinds"].items():
        if one["requests"]:
            print(f"  {kind:12} {one['requests']:5} requests  {one['cpu_ms'] / 1000:7.1f} s of MAAS's CPU")
    own = sum(found["kinds"][kind]["cpu_ms"] for kind in OWN) / 1000
    return own, found["cpu_ms"] / 1000 - own


if __name__ == "__main__":
    raise SystemExit(main())
