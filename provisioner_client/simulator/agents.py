"""Agents of simulated machines: a machine that is up answers at the addresses that its design states, through a proxy.

They answer as `provisioner_client.node_agent.agent` does, but do not keep which nonces they have seen.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from provisioner_client.node_agent.agent import (
    CLOCKS_DIFFER,
    Refused,
    answer_signature,
    parse_target,
    require_own,
    signature,
)
from provisioner_client.simulator.http.answer import Answer, json_answer
from provisioner_client.simulator.machines import SILENT, MachinePark, MachineStatus

_LOOK_EVERY = 0.25


@dataclass(frozen=True, slots=True)
class _Machine:
    site: str
    name: str
    word: str
    """State and reason, as in the state file of an agent; "" where nothing answers."""


class SimulatedAgents:
    """Answers for all machines that are up.

    Parameters
    ----------
    key : of the nodes' sites; None: no machine answers.
    """

    def __init__(self, park: MachinePark, key: bytes | None) -> None:
        self._park = park
        self._key = key
        self._changed = threading.Condition()
        self._machines: Mapping[str, tuple[_Machine, ...]] = {}
        self._looked = -1
        self._ended = False

    def answer(self, url: str, method: str, headers: Mapping[str, str]) -> Answer:
        """Answer one request to the agent at `url`, when what is known is not so any more or the time is over."""
        parts = urlsplit(url)
        target = f"{parts.path or '/'}?{parts.query}"
        try:
            if method != "GET":
                raise Refused(405, "only GET is answered here")
            key = self._require_key()
            nonce = _check(key, target, headers)
            known, wait, node = parse_target(target)
            state, reason = self._linger(parts.hostname or "", known, wait, node)
        except Refused as refused:
            return json_answer({"error": str(refused)}, refused.status)
        answer = json_answer({"state": state, "reason": reason})
        return answer.with_headers(("X-Slipway-Signature", answer_signature(key, node, nonce, answer.body)))

    def stop(self) -> None:
        """Let all go that wait."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _require_key(self) -> bytes:
        if self._key is None:
            raise Refused(501, "the simulator was started without --node-key")
        return self._key

    def _linger(self, address: str, known: str, wait: float, node: str | None) -> tuple[str, str]:
        """Return state and reason of a machine, as soon as the state is another than the known one.

        Raises `Refused`: it is not the machine that is asked for, or there is none.
        """
        ends = time.monotonic() + wait
        with self._changed:
            while True:
                self._look()
                state, reason = self._word_of(address, node)
                left = ends - time.monotonic()
                if state != known or left <= 0 or self._ended:
                    return state, reason
                self._changed.wait(min(left, _LOOK_EVERY))

    def _look(self) -> None:
        """Read all machines, if anything was written since: many may wait, and few things change."""
        written = self._park.written()
        if written == self._looked:
            return
        found: dict[str, list[_Machine]] = {}
        for row in self._park.agents():
            up = row["status"] == MachineStatus.DEPLOYED and row["power_state"] == "on" and not row["hidden"]
            word = (row["agent"] or "up") if up and row["agent"] != SILENT else ""
            for address in json.loads(row["addresses"]):
                found.setdefault(address, []).append(_Machine(row["site"], row["name"], word))
        self._machines = {address: tuple(machines) for address, machines in found.items()}
        self._looked = written

    def _word_of(self, address: str, node: str | None) -> tuple[str, str]:
        machines = self._machines.get(address, ())
        if len(machines) > 1:
            named = ", ".join(f"{one.name} of {one.site}" for one in machines)
            raise Refused(409, f"{address} is the address of {named}: the simulator cannot tell them apart")
        if not machines:
            raise Refused(502, f"no simulated machine has the address {address}")
        if not machines[0].word:
            raise Refused(502, f"nothing answers on {machines[0].name} at {address}")
        require_own(node, (machines[0].name,))
        state, _, reason = machines[0].word.partition(" ")
        return state, reason


def _check(key: bytes, target: str, headers: Mapping[str, str]) -> str:
    """Return the nonce of a request. Raises `Refused`: it is not signed with the key, or not of now."""
    sent, nonce, asker, signed = (
        headers.get(f"x-slipway-{name}", "") for name in ("time", "nonce", "asker", "signature")
    )
    expected = signature(key, "GET", target, sent, nonce, asker)
    if not hmac.compare_digest(signed.encode(), expected.encode()):
        raise Refused(401, "the request is not signed with the key that --node-key names")
    try:
        apart = abs(float(sent) - time.time())
    except ValueError:
        raise Refused(400, "the time must be seconds since 1970") from None
    if not apart <= CLOCKS_DIFFER:
        raise Refused(401, f"the clocks are {apart:.0f} s apart")
    return nonce
