"""Drydock node filters for selectors and for lists of names. It says what is sent, and sends nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from strategy_lib.strategy import Label, Selector

REFERENCE_KEY: Final = "x_client_ref"
"""Drydock keeps and echoes unknown keys of a node filter; ours is found again by this one."""


def names_filter(names: Sequence[str], reference: str) -> dict[str, Any]:
    """Filter for exactly these nodes, carrying our reference (rule 12).

    Raises
    ------
    ValueError
        When there are no names: Drydock runs such a task for ever, or calls it a success.
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
