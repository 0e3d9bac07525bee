"""What differs for one node between what is done and what is wanted, as the API and the node's page tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from design_rendering.changes import DocumentChange
from site_engine.designs import documents_between
from site_store import SiteStore
from slipway_api.documents.differences import ChangedField, ChangeName
from slipway_api.http.concurrency import READING, answer_within
from slipway_api.http.kept import Kept

MOST_FIELDS = 200
"""Differing fields of one node."""
MOST_KEPT = 64
"""Comparisons that are kept: each is of one node between two revisions, and takes seconds in a very large design."""

Shown = list[dict[str, Any]]


class NodeDifference(BaseModel):
    """A document that makes a node, and that is another one in the wanted revision than in the done one."""

    schema_: str = Field(alias="schema", examples=["drydock/HostProfile/v1"])
    name: str = Field(examples=["compute"])
    change: ChangeName = Field(examples=["modified"])
    fields_: list[ChangedField] = Field(alias="fields", description="`from` as done, `to` as wanted.")
    fields_left_out: int = Field(default_factory=int)


COMPARISONS: Kept[Shown] = Kept(MOST_KEPT)
"""Of revisions, which never change."""


def node_differences(
    store: SiteStore, site: str, node: Mapping[str, Any] | None, wait: float | None = None
) -> Shown | None:
    """Return what differs for a node between what is done and what is wanted, as `NodeDifference` describes it.

    Parameters
    ----------
    node : as `site_engine.trees.nodes.node_to_dict` returns it; None: nothing is known of it.
    wait : seconds for which the answer is waited for. None: as long as it takes.

    Returns
    -------
    list or None
        Empty where it is as wanted, or one of the two is not there. None where the comparison takes longer: ask again.

    Raises
    ------
    RevisionUnreadable : one of the revisions cannot be read any more.
    """
    if node is None or node["as_wanted"]:
        return []
    name, done, wanted = node["node"], node["done_revision"], node["wanted_revision"]
    if done is None or wanted is None or done == wanted:
        return []

    def compare() -> Shown:
        with READING.slot():
            return shown_differences(name, documents_between(store, site, done, wanted, [name]).get(name, ()))

    def compared() -> Shown:
        return COMPARISONS.get((store.location, site, name, done, wanted), compare)

    try:
        return compared() if wait is None else answer_within(wait, "comparison", compared)
    except TimeoutError:
        # It goes on, and is kept for who asks again.
        return None


def shown_differences(node: str, changes: Sequence[DocumentChange]) -> Shown:
    """Return documents of a node that differ, as `NodeDifference` describes them, its own document first."""
    left = MOST_FIELDS
    shown = []
    for change in sorted(changes, key=lambda one: (one.name != node, one.schema, one.name)):
        entry: dict[str, Any] = {
            "schema": change.schema,
            "name": change.name,
            "change": change.change.value,
            "fields": [field.to_data() for field in change.fields[:left]],
        }
        if len(change.fields) > left:
            entry["fields_left_out"] = len(change.fields) - left
        left -= len(entry["fields"])
        shown.append(entry)
    return shown
