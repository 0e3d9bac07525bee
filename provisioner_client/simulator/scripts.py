"""What shall become of a node: scripts, read from requests and options, kept in the store, chosen for an attempt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final, TypeVar

from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.machines import Work
from provisioner_client.simulator.store import Store

STAGES: Mapping[Work, tuple[str, ...]] = {
    Work.PREPARE: ("set_node_boot", "power_cycle_node", "identify_node", "configure_hardware"),
    Work.DEPLOY: ("apply_node_networking", "apply_node_platform", "deploy_node", "bootaction_report"),
    Work.DESTROY: ("destroy_node",),
    Work.RELABEL: ("relabel_node",),
}
_E = TypeVar("_E", bound=StrEnum)
MOST_FACTOR: Final = 1_000_000
"""Times as long as usual that a slow node may take."""

HARDWARE_STAGE = {
    Work.PREPARE: "configure_hardware",
    Work.DEPLOY: "deploy_node",
    Work.DESTROY: "destroy_node",
    Work.RELABEL: "relabel_node",
}


class Behaviour(StrEnum):
    """What a script makes a node do; the table in the README says what is seen of each."""

    OK = "ok"
    FAIL = "fail"
    SLOW = "slow"
    STUCK = "stuck"
    UNREPORTED = "unreported"
    UNREPORTED_DONE = "unreported_done"
    FLAKY = "flaky"
    BOTH_LISTS = "both_lists"
    FALSE_SUCCESS = "false_success"
    POWER = "power"
    TAKEN_FOR_DONE = "taken_for_done"
    SILENT = "silent"
    NO_NETWORK = "no_network"
    NO_ADDRESSES = "no_addresses"


@dataclass(frozen=True, slots=True)
class Script:
    """One script; `node` may be a glob, `attempt` None means every submission of the node for this phase."""

    node: str
    phase: Work
    behaviour: Behaviour
    attempt: int | None = None
    factor: float = 5.0
    times: int = 1
    stage: str | None = None
    message: str | None = None

    def to_data(self) -> dict[str, Any]:
        """Return the script as JSON data, in the form that `parse_script` reads."""
        return asdict(self)

    @property
    def key(self) -> tuple[str, str, int | None]:
        """Scripts with the same key replace each other."""
        return (self.node, self.phase.value, self.attempt)


@dataclass(frozen=True, slots=True)
class ScriptForm:
    """Which scripts a provisioner understands: the stages of each phase, in order, and the behaviours of each."""

    stages: Mapping[Work, Sequence[str]]
    behaviours: Mapping[Work, frozenset[Behaviour]]


_ONLY_MAAS = frozenset({Behaviour.SILENT, Behaviour.NO_NETWORK, Behaviour.NO_ADDRESSES})
_OF_DRYDOCK = frozenset(Behaviour) - _ONLY_MAAS
DRYDOCK_SCRIPTS = ScriptForm(
    STAGES, {**dict.fromkeys(Work, _OF_DRYDOCK), Work.RELABEL: _OF_DRYDOCK - {Behaviour.TAKEN_FOR_DONE}}
)


def parse_script(data: object, form: ScriptForm = DRYDOCK_SCRIPTS) -> Script:
    """Read one script. Raises `BadAdminRequest` with a sentence naming the field that is wrong."""
    if not isinstance(data, Mapping):
        raise BadAdminRequest("a script is an object with node, phase and behaviour")
    unknown = set(data) - set(Script.__dataclass_fields__)
    if unknown:
        raise BadAdminRequest(f"unknown field of a script: {', '.join(sorted(map(str, unknown)))}")
    node = data.get("node")
    if not isinstance(node, str) or not node:
        raise BadAdminRequest("a script needs a node: a name or a glob")
    phase = _one_of(list(form.stages), data.get("phase"), "phase")
    stage = data.get("stage")
    if stage is not None and stage not in form.stages[phase]:
        raise BadAdminRequest(f"stage {stage!r} is none of {', '.join(form.stages[phase])}")
    known = [one for one in Behaviour if one in form.behaviours[phase]]
    attempt = data.get("attempt")
    if attempt is not None and (type(attempt) is not int or attempt < 1):
        raise BadAdminRequest("attempt is a number from 1, or absent for every attempt")
    times, factor, message = data.get("times", 1), data.get("factor", 5.0), data.get("message")
    if type(times) is not int or times < 1:
        raise BadAdminRequest("times is a number from 1")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor <= MOST_FACTOR:
        raise BadAdminRequest(f"factor is a number above 0, {MOST_FACTOR} at most")
    if message is not None and not isinstance(message, str):
        raise BadAdminRequest("message is a string")
    return Script(
        node=node,
        phase=phase,
        behaviour=_one_of(known, data.get("behaviour"), "behaviour"),
        attempt=attempt,
        factor=float(factor),
        times=times,
        stage=stage,
        message=message,
    )


def parse_fail_option(text: str, form: ScriptForm = DRYDOCK_SCRIPTS) -> Script:
    """Read the command line's `PHASE:NODE[:KIND]`. Raises `BadAdminRequest` if it has another form."""
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise BadAdminRequest(f"{text!r} is not PHASE:NODE or PHASE:NODE:KIND")
    behaviour = parts[2] if len(parts) == 3 else "fail"
    return parse_script({"phase": parts[0], "node": parts[1], "behaviour": behaviour}, form)


def choose_script(scripts: Sequence[Script], node: str, phase: Work, attempt: int) -> Script | None:
    """Return the script for this submission: exact name before glob, given attempt before none, later first."""
    best: tuple[bool, bool, int] | None = None
    chosen: Script | None = None
    for position, script in enumerate(scripts):
        exact = script.node == node
        if script.phase is not phase or script.attempt not in (None, attempt):
            continue
        if not exact and not fnmatchcase(node, script.node):
            continue
        rank = (exact, script.attempt is not None, position)
        if best is None or rank > best:
            best, chosen = rank, script
    return chosen


def _one_of(known: Sequence[_E], value: object, name: str) -> _E:
    for one in known:
        if one == str(value):
            return one
    raise BadAdminRequest(f"{name} {value!r} is none of {', '.join(known)}")


def _load(data: dict[str, Any]) -> Script:
    """Read a script that was checked when it was stored."""
    return Script(**{**data, "phase": Work(data["phase"]), "behaviour": Behaviour(data["behaviour"])})


class ScriptBook:
    """All scripts, oldest first; adding one with the key of another replaces it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> list[Script]:
        return [_load(json.loads(row["data"])) for row in self._store.rows("SELECT data FROM script ORDER BY id")]

    def add(self, scripts: Iterable[Script]) -> None:
        with self._store.transaction():
            known = {script.key: script for script in self.all()}
            for script in scripts:
                known.pop(script.key, None)
                known[script.key] = script
            self.clear()
            self._store.execute_many(
                "INSERT INTO script (data) VALUES (?)", [(json.dumps(script.to_data()),) for script in known.values()]
            )

    def clear(self) -> None:
        self._store.execute("DELETE FROM script")
