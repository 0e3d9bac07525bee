"""What Drydock would take and then break on or lose; refused before anything is sent (trap 14). Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from provisioner_client.errors import ProvisionerRefused, SubmissionRefused

LONGEST_DESIGN_REF: Final = 128
LONGEST_HOSTNAME: Final = 32


def check_design_ref(design_ref: str) -> None:
    """Refuse an address of a design that Drydock cannot store.

    Raises
    ------
    ProvisionerRefused
        The text does not repeat the address.
    """
    if not design_ref:
        raise ProvisionerRefused("no design reference")
    if len(design_ref) > LONGEST_DESIGN_REF:
        raise ProvisionerRefused(
            f"the design reference is {len(design_ref)} characters long; Drydock stores {LONGEST_DESIGN_REF}"
        )


def checked_names(nodes: Collection[str]) -> list[str]:
    """Give names of nodes in order, each once.

    Raises
    ------
    SubmissionRefused
        When there is none, or one that Drydock would lose.
    """
    names = sorted(set(nodes))
    if not names:
        raise SubmissionRefused("no nodes: Drydock would call a task without nodes a success")
    bad = [name for name in names if not name or len(name) > LONGEST_HOSTNAME]
    if bad:
        raise SubmissionRefused(
            f"host names must have 1 to {LONGEST_HOSTNAME} characters, or Drydock loses them: {some(bad)}"
        )
    return names


def some(names: Collection[str]) -> str:
    """Write the first ten of these names, and how many more there are."""
    listed = sorted(names)
    return ", ".join(listed[:10]) + (f" (and {len(listed) - 10} more)" if len(listed) > 10 else "")
