"""A simulated MAAS as the admin API sees it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.maas.cost import CostBook
from provisioner_client.simulator.maas.events import EventLedger
from provisioner_client.simulator.maas.machines.acts import Acts
from provisioner_client.simulator.maas.machines.course import MAAS_SCRIPTS
from provisioner_client.simulator.maas.machines.park import MachinePark
from provisioner_client.simulator.maas.places import POOL, ZONE, Places
from provisioner_client.simulator.scripts import ScriptForm
from provisioner_client.simulator.settings import Settings
from provisioner_client.simulator.store import Store


class MaasWorld:
    """Implements `http.admin_api.World`."""

    script_form: ScriptForm = MAAS_SCRIPTS

    def __init__(
        self,
        store: Store,
        park: MachinePark,
        events: EventLedger,
        acts: Acts,
        cost: CostBook,
        places: Places,
        settings: Settings,
        preload: Callable[[], None],
    ) -> None:
        self._store, self._park, self._events, self._acts, self._cost = store, park, events, acts, cost
        self._places, self._settings, self._preload = places, settings, preload

    def advance(self) -> None:
        """Carry out everything that is due by now."""
        with self._store.transaction():
            self._park.advance(time.time())
            self._park.save()

    def state(self) -> dict[str, Any]:
        """Return the process, and how much there is."""
        return {
            "pid": os.getpid(),
            "provisioner": "maas",
            "seed": self._settings.seed,
            "speed": self._settings.speed,
            "starts": int(self._store.meta("starts") or 0),
            "now": time.time(),
            "nodes": len([*self._park.all()]),
            "tags": self._store.value("SELECT count(*) FROM maas_tag WHERE NOT gone"),
            "events": self._store.value("SELECT coalesce(max(id), 0) FROM maas_event"),
            "under_way": self._acts.under_way(),
            "max_in_flight": int(self._store.meta("max_in_flight") or 0),
        }

    def machines(self) -> list[dict[str, Any]]:
        """Return every machine, sorted by name."""
        return sorted((one.describe() for one in self._park.all()), key=lambda one: str(one["name"]))

    def change(self, name: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """Change a machine behind everybody's back; no event tells of it."""
        changed = self._park.change(name, data)
        for kind in {ZONE, POOL} & data.keys():
            self._places.ensure(kind, [data[kind]])
        self._park.save()
        return changed

    def release(self, name: str | None) -> list[str]:
        """Let stuck machines go on."""
        released = self._park.let_go(name)
        self._park.save()
        return released

    def double_submissions(self) -> dict[str, list[dict[str, Any]]]:
        """Compare everything that was ever begun on each machine."""
        return self._acts.doubles()

    def lists(self) -> dict[str, Callable[[dict[str, str]], object]]:
        """Return what was begun for each wish, and MAAS's own: what the requests would cost a real one."""
        return {"tasks": lambda _: self._acts.tasks(), "cost": lambda _: self._cost.describe()}

    def changes(self) -> dict[str, Callable[[dict[str, Any]], object]]:
        """Return what is done to the ledger of events."""
        return {"events": self._change_events}

    def _change_events(self, data: dict[str, Any]) -> dict[str, object]:
        match data:
            case {"prune": True}:
                return {"pruned": self._events.prune()}
            case {"hide": str(name)} if (machine := self._park.named(name)) is not None:
                self._events.hide(machine.system_id)
                return {"hidden": name}
            case {"hide": None}:
                self._events.hide(None)
                return {"hidden": None}
        raise BadAdminRequest('the events take {"prune": true}, {"hide": NAME of a machine} or {"hide": null}')

    def reset(self) -> None:
        """Begin anew with the machines of the command line."""
        self._store.set_meta("max_in_flight", 0)
        self._store.set_meta("maas_hidden", "")
        self._store.set_meta("enlisted", "[]")
        self._preload()
