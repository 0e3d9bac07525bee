"""MAAS's operations on a machine that carry out an act, each with its fields. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final, TypeAlias

from provisioner_client.maas.tasks.next_step import Act, NextStep
from provisioner_client.maas.tasks.task_tag import Order

Fields: TypeAlias = list[tuple[str, str]]

ERASE: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "none": (),
    "quick": (("erase", "true"), ("quick_erase", "true")),
    "secure": (("erase", "true"), ("secure_erase", "true")),
    "full": (("erase", "true"),),
}
"""How a release erases disks, by our word for it."""


def operations_of(step: NextStep, order: Order, reference: str, user_data: str | None) -> list[tuple[str, Fields]]:
    """Return what is asked of a machine for a step, in this order.

    Parameters
    ----------
    step : to allocate is no operation on a machine: what is asked of it then is its deploy.
    order, reference : the machine's, and the task's, which stands in the comments.
    user_data : what it gets at its first boot; None: nothing.
    """
    if step.act is Act.COMMISSION:
        return [("commission", [("skip_networking", "1"), ("skip_storage", "1")] if step.keeps else [])]
    comment = ("comment", reference)
    if step.act is Act.RELEASE:
        return [("release", [comment, *ERASE.get(order.erase, ())])]
    fields = [comment]
    fields += [(key, text) for key, text in (("distro_series", order.image), ("hwe_kernel", order.kernel)) if text]
    if order.ephemeral:
        fields.append(("ephemeral_deploy", "true"))
    if user_data is not None:
        fields.append(("user_data", base64.b64encode(user_data.encode()).decode()))
    return [("deploy", fields)]


def set_up_operations(order: Order) -> list[tuple[str, Fields]]:
    """Return what is asked of a machine to set up its network and its storage."""
    found: list[tuple[str, Fields]] = []
    if order.network:
        found.append(("restore_networking_configuration", []))
    if order.storage:
        found.append(("set_storage_layout", [("storage_layout", order.storage)]))
    return found


def was_set(order: Order) -> dict[str, str]:
    """Return what of a machine is set up, and how the design calls it."""
    return {what: text for what in ("network", "storage") if (text := getattr(order, what))}
