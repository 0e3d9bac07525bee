"""Powering machines on that are deployed and off: what runs on them stays, and nothing is kept of it in MAAS."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
)
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.design import by_name
from provisioner_client.maas.machine import Machine
from provisioner_client.maas.tasks.next_step import Act
from provisioner_client.maas.tasks.refusals import refusal_of


def power_on(api: MaasApi, names: Collection[str]) -> dict[str, str]:
    """Ask for the power of machines of the site, each once; return why it was not, of those that stay as they are.

    Raises `ProvisionerError`: MAAS cannot be asked at all.
    """
    refused = {}
    for name in sorted(set(names)):
        # Each right before: a BMC takes seconds, and somebody else may have the next machine by then.
        same = by_name(api.machines_of("hostname", [name])).get(name, [])
        why = _why_not(api, same)
        if not why:
            try:
                api.act(same[0].system_id, "power_on", ())
            except (ProvisionerRefused, ProvisionerUnavailable, ProvisionerProtocolError) as trouble:
                if _is_of_all(trouble):
                    raise
                is_refused = isinstance(trouble, ProvisionerRefused)
                why = refusal_of(Act.POWER_ON, name, same[0].system_id, trouble) if is_refused else trouble.detail
        if why:
            refused[name] = why
    return refused


def _why_not(api: MaasApi, same: Sequence[Machine]) -> str:
    if len(same) != 1:
        return f"MAAS has {len(same)} machines of this name in {api.limits}"
    (machine,) = same
    if machine.is_owned_by_other(api.account):
        return f"it is {machine.owner}'s in MAAS"
    if machine.can_power_on and machine.locked:
        return "it is locked in MAAS: unlock it there"
    return "" if machine.can_power_on else f"it is {machine.shown}, power {machine.power_state or 'not known'}"


def _is_of_all(trouble: ProvisionerError) -> bool:
    """Whether what went wrong says nothing of one machine: MAAS is not reached, or refuses the key."""
    if isinstance(trouble, ProvisionerUnavailable):
        return not trouble.reached
    return isinstance(trouble, AuthenticationFailed) and trouble.status == 401
