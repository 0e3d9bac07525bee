"""A real Ironic as the suite asks for it: what a simulator's admin API does is done to the nodes themselves.

Its faults are those of the simulators, played on the way to it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

from provisioner_client.ironic.node import MARK
from tests.contract.servers import ContractDrydock
from tests.support.embedded_ironic import EmbeddedIronic
from tests.support.ironic_sites import IronicTestSite
from tests.support.ironic_way import IronicWay
from tests.support.postgres import running_server

NODES = ("c1", "c2", "w1", "w2", "w3", "w4")
SITE, ELSEWHERE = "contract", "elsewhere"


class ContractIronic(ContractDrydock):
    """A real Ironic with six pretended machines. Its tasks are marks on them."""

    api = "/v1"
    submissions_path = "nodes/*"
    submissions_method = "PATCH"
    nodes_path = "nodes"
    repeats_submissions = True
    broken = "available, in maintenance: its fan"
    resumes = False

    def __init__(self) -> None:
        super().__init__()
        self._closing = contextlib.ExitStack()
        self._scripts: list[dict[str, Any]] = []

    def start(self, *more: str) -> None:
        """Start it; after a kill, with the nodes that it had."""
        if not self.url:
            home = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="ironic-")))
            cluster, _ = self._closing.enter_context(running_server(home))
            self.ironic = EmbeddedIronic(home, cluster.sockets)
            self._closing.callback(lambda: self.ironic.stop())
            self._way = IronicWay(self.ironic.url)
            self._closing.callback(self._way.stop)
            self.url = self._way.url
            self._site = IronicTestSite(self.ironic, SITE)
            self.ironic.start().wait_ready()
            self.post("reset")
        else:
            self.ironic.start().wait_ready()
            self._play()

    def kill(self) -> None:
        for process in self.ironic.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        assert self.ironic.process is not None
        self.ironic.process.wait(20)
        self._site.wait_for(lambda: not self.ironic.processes())

    def stop(self) -> None:
        self._closing.close()

    @property
    def password(self) -> str:
        """Of its user `slipway`."""
        return self.ironic.password

    @property
    def address(self) -> str:
        return self.url

    def in_use(self) -> dict[str, str]:
        return {"CONTRACT_RESOURCE_CLASS": SITE, "CONTRACT_LOGIN": "slipway", "CONTRACT_PASSWORD": self.password}

    def tasks(self) -> list[tuple[str, str | None]]:
        """Return the references of the marks."""
        marks = (node["extra"].get(MARK) for node in self._nodes())
        references = dict.fromkeys(str(mark["ref"]) for mark in marks if mark is not None)
        return [(reference, reference) for reference in references]

    def reading_paths(self, task_id: str) -> list[tuple[str, str]]:
        return [("GET", "nodes"), ("GET", "nodes/c1")]

    def posts(self) -> int:
        """Return how often one of the nodes got the same mark: more than once where that was repeated for any."""
        marks = [(one.path, one.mark["ref"], one.mark.get("step")) for one in self._way.journal if one.mark]
        return len(marks) - len(set(marks)) + 1 if marks else 0

    def get(self, where: str, /, **params: str) -> Any:
        if where == "double-submissions":
            return {"overlapping": [], "same_reference": self._way.doubles()}
        if where == "faults":
            return self._way.faults()
        if where == "journal":
            asked = [one for one in self._way.journal if params.get("method") in (None, one.method)]
            return [one for one in asked if params.get("path") in (None, one.path)]
        assert where == "state", where
        return {"tasks": len(self.tasks())}

    def post(self, path: str, data: Any = None) -> Any:
        if path == "reset":
            self._reset()
            return None
        name = path.removeprefix("nodes/")
        if "hidden" in data:
            self._site.patch(name, resource_class=ELSEWHERE if data["hidden"] else SITE)
        if data.get("status") == "Broken":
            self._site.call("PUT", f"nodes/{name}/maintenance", {"reason": "its fan"})
        if "power_state" in data:
            target = f"power {data['power_state']}"
            self._site.call("PUT", f"nodes/{name}/states/power", {"target": target})
            self._site.wait_for(lambda: self._site.node(name)["power_state"] == target)
        return None

    def script(self, node: str, phase: str, behaviour: str, **more: Any) -> None:
        self._scripts.append({"node": node, "phase": str(phase).removesuffix("_nodes"), "behaviour": behaviour, **more})
        self._play()

    def release_stuck(self) -> None:
        self._scripts = [one for one in self._scripts if one["behaviour"] != "stuck"]
        self._play()

    def fault(self, method: str, path: str, kind: str, **more: Any) -> None:
        self._way.fault({"method": method, "path": f"{self.api}/{path}", "kind": kind, **more})

    def _play(self) -> None:
        self.ironic.play(*self._scripts)

    def _nodes(self) -> list[dict[str, Any]]:
        path = "nodes?fields=name,provision_state,provision_updated_at,extra,maintenance,resource_class"
        listed: list[dict[str, Any]] = self._site.call("GET", path).json()["nodes"]
        return listed

    def _reset(self) -> None:
        """Have six nodes to which nothing ever happened."""
        self._scripts = []
        self._play()
        untouched = {node["name"] for node in self._nodes() if _is_untouched(node)}
        for node in self._nodes():
            if node["name"] not in untouched:
                # What is at work ends first.
                self._site.wait_for(lambda name=node["name"]: self._is_deleted(name))  # type: ignore[misc]
        self._site.enroll(name for name in NODES if name not in untouched)
        self._way.forget()

    def _is_deleted(self, name: str) -> bool:
        if self._site.call("DELETE", f"nodes/{name}").status_code in (204, 404):
            return True
        # So it may be deleted however it is.
        self._site.call("PUT", f"nodes/{name}/maintenance", {"reason": "it is deleted"})
        return False


def _is_untouched(node: dict[str, Any]) -> bool:
    changes = (node["provision_updated_at"], node["extra"], node["maintenance"])
    return not any(changes) and node["resource_class"] == SITE
