"""The parts of requests to Drydock, and what it would take and then break on or lose (trap 14). It sends nothing."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from design_rendering.kinds.nodes import LONGEST_HOST_NAME
from provisioner_client.errors import ProvisionerRefused, SubmissionRefused
from strategy_lib.strategy import Label, Selector

LONGEST_DESIGN_REF: Final = 128


def check_design_ref(design_ref: str) -> None:
    """Refuse an address of a design that Drydock cannot store.

    Raises `ProvisionerRefused`: the text does not repeat the address.
    """
    if not design_ref:
        raise ProvisionerRefused("the design has no address")
    if len(design_ref) > LONGEST_DESIGN_REF:
        raise ProvisionerRefused(
            f"the design's address would be {len(design_ref)} characters, and Drydock takes {LONGEST_DESIGN_REF}: "
            "set a shorter 'Slipway URL' on the provisioner's connection"
        )


def checked_names(nodes: Collection[str]) -> list[str]:
    """Give names of nodes in order, each once.

    Raises `SubmissionRefused` when there are no names, or Drydock would lose one of them.
    """
    names = sorted(set(nodes))
    if not names:
        raise SubmissionRefused("no nodes: Drydock would call a task without nodes a success")
    bad = [name for name in names if not name or len(name) > LONGEST_HOST_NAME]
    if bad:
        raise SubmissionRefused(
            f"host names must have 1 to {LONGEST_HOST_NAME} characters, or Drydock loses them: {some(bad)}"
        )
    return names


def some(names: Collection[str]) -> str:
    """Write the first ten of these names, and how many more there are."""
    listed = sorted(names)
    return ", ".join(listed[:10]) + (f" (and {len(listed) - 10} more)" if len(listed) > 10 else "")


REFERENCE_KEY: Final = "x_client_ref"
"""Drydock keeps and echoes unknown keys of a node filter; ours is found again by this one."""


def names_filter(names: Sequence[str], reference: str) -> dict[str, Any]:
    """Filter for exactly these nodes, carrying our reference (rule 12).

    Raises `ValueError` when there are no names: Drydock runs such a task for ever, or calls it a success.
    """
    if not names:
        raise ValueError("a filter without names is never sent")
    return {
        "filter_set_type": "union",
        "filter_set": [{"filter_type": "union", "node_names": list(names)}],
        REFERENCE_KEY: reference,
    }


def selectors_filter(selectors: Sequence[Selector]) -> dict[str, Any] | None:
    """Filter for the union of some selectors (rules 5 and 6); None stands for all nodes.

    Drydock takes the criteria of one filter as OR inside and, with `filter_type: intersection`, AND between them, as
    rule 5 wants. It refuses or hangs on a filter without criteria, so one all-selector makes the whole filter None.
    Its labels are a mapping: a second value of one key needs a second filter, with the selector's other criteria
    repeated; the union of the two is the OR of the two labels AND the rest.
    """
    if not selectors or any(selector.is_all for selector in selectors):
        return None
    filters = [one for selector in selectors for one in _selector_filters(selector)]
    return {"filter_set_type": "union", "filter_set": filters}


def _selector_filters(selector: Selector) -> list[dict[str, Any]]:
    criteria: dict[str, Any] = {"filter_type": "intersection"}
    if selector.node_names:
        criteria["node_names"] = list(selector.node_names)
    if selector.node_tags:
        criteria["node_tags"] = list(selector.node_tags)
    if selector.rack_names:
        criteria["rack_names"] = list(selector.rack_names)
    if not selector.node_labels:
        return [criteria]
    return [{**criteria, "node_labels": labels} for labels in _label_maps(selector.node_labels)]


def _label_maps(labels: Iterable[Label]) -> list[dict[str, str]]:
    """As few mappings as hold all labels, each key once in each."""
    maps: list[dict[str, str]] = []
    for label in dict.fromkeys(labels):
        for one in maps:
            if label.key not in one:
                one[label.key] = label.value
                break
        else:
            maps.append({label.key: label.value})
    return maps


def marker_of(text: str | None) -> str:
    """Give this text if it is such a UUID, one that is made of it if it is not, a random one for None."""
    if text is None:
        return str(uuid.uuid4())
    try:
        given = uuid.UUID(text)
    except ValueError:
        given = None
    if given is not None and given.version == 4:
        return str(given)
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))
