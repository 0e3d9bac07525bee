"""What MAAS refused to do with a machine, or did not do, in a sentence for a person: its words, no request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from provisioner_client.errors import ProvisionerError, ProvisionerUnavailable
from provisioner_client.maas.tasks.next_step import Act

_FORBIDDEN: Final = 403
LOCKED: Final = "it is locked there, or somebody else has it by now: unlock it in MAAS"
"""What MAAS means by a 403 without a word."""
_VERBS: Final[Mapping[Act, str]] = {
    Act.COMMISSION: "commission",
    Act.SET_UP: "set up",
    Act.ALLOCATE: "allocate",
    Act.DEPLOY: "deploy",
    Act.RELEASE: "release",
    Act.RELABEL: "relabel",
    Act.POWER_ON: "power on",
}


def refusal_of(act: Act, name: str, system_id: str, refusal: ProvisionerError) -> str:
    """Say that MAAS refuses to do something with a machine, and why.

    Parameters
    ----------
    name, system_id : the node's name, which stands in MAAS's words where they have its id.
    """
    said = _words(name, system_id, refusal)
    if said:
        return f"MAAS refuses to {_VERBS[act]} {name}: {said}"
    if refusal.status == _FORBIDDEN:
        return f"MAAS refuses to {_VERBS[act]} {name}: {LOCKED}"
    return f"MAAS refuses to {_VERBS[act]} {name}, and does not say why (HTTP {refusal.status})"


def doubt_about(act: Act, name: str, system_id: str, trouble: ProvisionerError) -> str:
    """Say that MAAS did not do something with a machine, as far as its ledger knows, and what came of the request."""
    said = _words(name, system_id, trouble)
    if not said and trouble.status is not None:
        said = f"its answer was HTTP {trouble.status}, without a word"
    elif not said and isinstance(trouble, ProvisionerUnavailable) and trouble.timed_out:
        said = "its answer did not come in time"
    elif not said:
        said = "its answer was lost on the way"
    return f"MAAS did not {_VERBS[act]} {name}: {said}"


def _words(name: str, system_id: str, trouble: ProvisionerError) -> str:
    return trouble.said.replace(f"system ID {system_id}", f"name {name}").replace(system_id, name)
