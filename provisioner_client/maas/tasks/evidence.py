"""What MAAS's events, machines and scripts prove of a task's nodes (rule 13)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from provisioner_client.errors import ProvisionerError
from provisioner_client.http_errors import one_line
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.machine import Machine, Status
from provisioner_client.maas.tasks.ledger import Ledger
from provisioner_client.maas.tasks.progress import ABORTED
from provisioner_client.piecewise.told import evidence_from
from strategy_lib.goals.node_errors import join_messages
from strategy_lib.outcome import Evidence, Lister

log = logging.getLogger(__name__)

_MOST_RESULTS: Final = 20
"""Of so many failed machines the scripts' results are asked for; of the others the events have to do."""
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "prepare_nodes": ("commissioning", "testing"),
    "deploy_nodes": ("installation",),
}
KINDS_OF_STATUS: Final[Mapping[Status, tuple[str, ...]]] = {
    Status.FAILED_COMMISSIONING: ("commissioning",),
    Status.FAILED_TESTING: ("testing",),
    Status.FAILED_DEPLOYMENT: ("installation",),
}
"""Whose results say why a machine has a status that it had before our task."""
_ABORTED: Final = "aborted"
_BAD: Final = ("failed", "timed out", "degraded", _ABORTED)


def evidence_of(
    ledger: Ledger | None,
    machines: Mapping[str, Machine] | None,
    sent: Collection[str],
    why: Mapping[str, str],
    waits: Mapping[str, str] | None = None,
    *,
    account: str,
) -> Evidence:
    """Return what is known of the nodes that were sent.

    Parameters
    ----------
    ledger : the task's; None: it is gone, and so over.
    machines : as they are now, by the name of the node; None: they could not be listed.
    why : more of the reasons of failures, by the name of the node.
    waits : what machines wait for that were not acted on yet, by the name of the node.
    account : the name under which we ask.
    """
    listed = machines or {}
    condition = {name: machine.condition_for(account) for name, machine in listed.items()}
    words = {name: machine.shown_to(account) for name, machine in listed.items()}
    if ledger is None:
        return Evidence(over=True, condition=condition, status_names=words, listed=True, lister=Lister.MAAS)
    found = ledger.verdicts()
    messages = {name: text for name, (_, text) in found.items() if name in sent and text}
    messages |= {name: text for name, text in (waits or {}).items() if name in found and found[name][0] is None}
    spoilt: dict[str, str] = {}
    if ledger.tag.action == "deploy_nodes":
        half = (name for name, machine in listed.items() if machine.is_half_released)
        spoilt |= {name: f"the machine is {words[name]}: it has no operating system" for name in half}
    if ledger.tag.action == "prepare_nodes":
        aborted = (name for name, machine in listed.items() if machine.is_commissioning_aborted)
        spoilt |= {name: ABORTED for name in aborted if found[name][0] and ledger.progress(name).sent}
    if machines is not None and ledger.tag.action in _KINDS:
        # A machine that is released for good may be deleted with that.
        gone = (name for name, (ok, _) in found.items() if ok and name in sent and name not in machines)
        spoilt |= {name: f"{name} is no longer in the site's part of MAAS" for name in gone}
        theirs = (name for name, machine in machines.items() if machine.is_owned_by_other(account) and found[name][0])
        spoilt |= {name: f"{name} is {words[name]} by now, and is left alone" for name in theirs}
    messages |= spoilt
    found |= {name: (False, text) for name, text in spoilt.items() if name in found and found[name][0]}
    texts = {}
    for name, more in why.items():
        known = ledger.progress(name)
        if known.unexplained and messages.get(name) == known.why:
            messages[name] = f"{known.unexplained}: {more}"
        if more in messages.get(name, ""):
            continue
        joined = join_messages(text for text in (messages.get(name, ""), more) if text)
        if "\n" in joined:
            texts[name] = joined
    return evidence_from(found, condition, words, messages, texts, Lister.MAAS)


def reasons(api: MaasApi, ledger: Ledger, sent: Collection[str], machines: Mapping[str, Machine]) -> dict[str, str]:
    """Return which scripts have failed on machines that failed, now or before our task, in MAAS's words."""
    told = {}
    failed = [name for name, (ok, _) in ledger.verdicts().items() if ok is False and name in sent]
    for name in failed[:_MOST_RESULTS]:
        kinds = _kinds(api, ledger, name, machines.get(name))
        if not kinds:
            continue
        try:
            said = failed_scripts(api, ledger.tag.orders[name].system_id, kinds)
        except ProvisionerError as trouble:
            log.info("the scripts' results of %s cannot be read: %s", name, trouble)
            break
        if said:
            told[name] = said
    return told


def _kinds(api: MaasApi, ledger: Ledger, name: str, machine: Machine | None) -> tuple[str, ...]:
    """Return whose results say why a machine failed; none of a machine that is another's, or another site's, by now."""
    if machine is None or machine.is_owned_by_other(api.account):
        return ()
    if ledger.progress(name).sent:
        return _KINDS.get(ledger.tag.action, ())
    if machine.status is None:
        return ()
    return KINDS_OF_STATUS.get(machine.status, ())


def failed_scripts(api: MaasApi, system_id: str, kinds: Sequence[str]) -> str:
    """Return which scripts of a machine's newest runs of these kinds have failed, in MAAS's words; "": none.

    Raises `ProvisionerError`: the results cannot be read.
    """
    return "; ".join(_texts([one for kind in kinds for one in api.results(system_id, kind)]))


def _texts(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return which scripts failed; where none did, which were aborted: MAAS aborts what comes behind a failure."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    for one in results:
        word = one_line(one.get("status_name") or "")
        if word.lower().startswith(_BAD) and not one.get("suppressed"):
            status = one.get("exit_status")
            ended = f" (exit status {status})" if isinstance(status, int) and status else ""
            text = f"script {one_line(one.get('name') or '?')}: {word}{ended}"
            texts[word.lower().startswith(_ABORTED)].append(text)
    return texts[False] or texts[True]
