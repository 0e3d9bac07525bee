"""How long a stage of a pretended machine takes, and whether it fails.

It runs in Ironic's environment, not in Slipway's, and imports nothing of Slipway. What shall become of which node
stands in a file that the environment variable `IRONIC_MACHINES` names. Each stage reads it anew.
"""

from __future__ import annotations

import fnmatch
import json
import os
import random
import time
from pathlib import Path
from typing import Any

MACHINES = "IRONIC_MACHINES"
"""Environment variable: the file with `speed` (simulated seconds per second) and `scripts`, later ones going first."""
SECONDS = {
    ("prepare", "inspect"): 90.0,
    ("prepare", "clean"): 240.0,
    ("deploy", "deploy"): 570.0,
    ("destroy", "tear_down"): 15.0,
    ("destroy", "clean"): 60.0,
}
"""Simulated seconds of each stage of a phase."""
CAUSES = {
    "inspect": "the machine did not report its hardware (simulated)",
    "clean": "the disks could not be erased (simulated)",
    "deploy": "the image could not be written to the root disk (simulated)",
    "tear_down": "the BMC did not switch the machine off (simulated)",
}
"""What a failure says where the script has no message of its own."""
_DEFAULT_STAGE = {"prepare": "clean", "deploy": "deploy", "destroy": "tear_down"}
_TICK = 0.5
"""Seconds between two looks of a step that is stuck."""


def chosen_script(order: dict[str, Any], name: str, phase: str, stage: str) -> dict[str, Any]:
    """Return the script for a node's stage, `{}` without one: an exact name goes before a pattern, a later one first.

    Parameters
    ----------
    order : what is in the file `MACHINES`.
    """
    best: tuple[bool, int] = (False, -1)
    chosen: dict[str, Any] = {}
    for position, script in enumerate(order.get("scripts", ())):
        if script["phase"] != phase or (script.get("stage") or _DEFAULT_STAGE[phase]) != stage:
            continue
        rank = (script["node"] == name, position)
        if rank > best and fnmatch.fnmatchcase(name, script["node"]):
            best, chosen = rank, script
    return chosen


def play(name: str, phase: str, stage: str) -> str | None:
    """Take the time of a stage, and return why it fails; None: it does not.

    A stage that is stuck goes on once the file says so.
    """
    order = _order()
    script = chosen_script(order, name, phase, stage)
    seconds = SECONDS[phase, stage] * random.uniform(0.85, 1.2)
    if script.get("behaviour") == "slow":
        seconds *= script.get("factor", 5.0)
    time.sleep(seconds / order.get("speed", 1.0))
    while script.get("behaviour") == "stuck":
        time.sleep(_TICK)
        script = chosen_script(_order(), name, phase, stage)
    return (script.get("message") or CAUSES[stage]) if script.get("behaviour") == "fail" else None


def _order() -> dict[str, Any]:
    order: dict[str, Any] = json.loads(Path(os.environ[MACHINES]).read_text(encoding="utf-8"))
    return order
