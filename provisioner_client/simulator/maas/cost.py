"""What requests would cost a real MAAS: counted by kind, and weighed with CPU times measured on MAAS 3.7.3."""

from __future__ import annotations

from typing import Any

from provisioner_client.simulator.store import Store

# Milliseconds of the region's CPU: (for a request, for each machine in its answer). The upper end of what was measured.
WEIGHTS: dict[str, tuple[float, float]] = {
    "list": (25.0, 55.0),
    "machine": (93.0, 0.0),
    "events": (13.0, 0.0),
    "commission": (400.0, 0.0),
    "allocate": (200.0, 0.0),
    "deploy": (1100.0, 0.0),
    "release": (200.0, 0.0),
    "tags": (25.0, 0.0),
    "other": (25.0, 0.0),
}
MEASURED = ("list", "machine", "events", "commission", "deploy", "release")


class CostBook:
    """Counts requests that MAAS answered, whatever it answered; `count` is called inside a transaction of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def count(self, kind: str, machines: int = 0) -> None:
        """Count one request."""
        self._store.execute(
            "INSERT INTO maas_cost (kind, requests, machines) VALUES (?, 1, ?)"
            " ON CONFLICT (kind) DO UPDATE SET requests = requests + 1, machines = machines + excluded.machines",
            (kind, machines),
        )

    def describe(self) -> dict[str, Any]:
        """Return requests, machines and milliseconds of CPU of each kind, and their sum."""
        counted = {row["kind"]: row for row in self._store.rows("SELECT * FROM maas_cost")}
        kinds = {}
        for kind, (each, of_machine) in WEIGHTS.items():
            row = counted.get(kind)
            requests, machines = (row["requests"], row["machines"]) if row is not None else (0, 0)
            kinds[kind] = {
                "requests": requests,
                "machines": machines,
                "cpu_ms": requests * each + machines * of_machine,
                "measured": kind in MEASURED,
            }
        return {
            "requests": sum(one["requests"] for one in kinds.values()),
            "cpu_ms": sum(one["cpu_ms"] for one in kinds.values()),
            "kinds": kinds,
        }
