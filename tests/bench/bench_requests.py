"""How many requests a deployment sends to its provisioner, for each node and minute: Drydock and MAAS, simulated.

Run it as `python -m tests.bench.bench_requests [--poll SECONDS] [--speed TIMES]`: the 40 nodes of the example sites are
prepared and deployed, each phase as one provisioner task that is asked about as an Airflow task does. Prints requests
by kind. For MAAS they are weighed with what they cost a real one in CPU time; what commission, allocate and deploy
cost is the machines' own, and the rest, the overhead, must not be more. Exits 1 when it is.
"""

from __future__ import annotations

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
        connection = ConnectionValues(kind, "bench", host, password=key, extra=extra)
        provisioner = FACTORY.connect(connection, nothing_is_secret)
        text = design_text(render(load_documents(site.read_text(), site.name)))
        design = DesignSource(f"file://{site}", lambda: text)
        began = process.get("state")["now"]
        assert provisioner.validate_design(design).valid
        nodes = sorted(provisioner.select_nodes(design, [Selector()]))
        for op, phase in enumerate((Phase.PREPARE, Phase.DEPLOY)):
            _carry_out(provisioner, phase, design, nodes, f"slipway-bench-{op}", poll / speed)
        minutes = (process.get("state")["now"] - began) * speed / 60
        provisioner.close()
        requests = Counter(one["path"] for one in process.get("journal") if not one["path"].startswith("/_sim"))
        total = sum(requests.values())
        print(
            f"{kind:8} {len(nodes)} nodes in {minutes:.0f} simulated minutes: {total} requests, "
            f"{total / len(nodes):.1f} for each node, {total / len(nodes) / minutes:.3f} for each node and minute"
        )
        if kind != "maas":
            return 0.0, 0.0
        return _cost(process, len(nodes))
    finally:
        process.stop()


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
