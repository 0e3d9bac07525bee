"""What differs for one node between two revisions: in its own document, and in those that it is made from."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from design_rendering.document_changes import DocumentChange, SecretPaths, document_changes
from design_rendering.documents import Document
from design_rendering.drydock_nodes import nodes_from_documents
from design_rendering.objects import ObjectKey, design_objects, kind_of, parts_of_nodes
from design_rendering.rendering import Rendering
from site_store import SiteStore
from slipway_api.documents.differences import ChangedField, ChangeName, shown_field
from slipway_api.documents.site_documents import rendering_of, texts_or_empty
from slipway_api.http.concurrency import READING

MOST_FIELDS = 200
"""Differing fields of one node."""
MOST_KEPT = 4
"""Pairs of revisions whose comparison is kept: it takes seconds for thousands of nodes."""


class NodeDifference(BaseModel):
    """A document that makes a node, and that is another one in the wanted revision than in the done one."""

    schema_: str = Field(alias="schema", examples=["drydock/HostProfile/v1"])
    name: str = Field(examples=["compute"])
    change: ChangeName = Field(examples=["modified"])
    fields_: list[ChangedField] = Field(alias="fields", description="`from` as done, `to` as wanted.")
    fields_left_out: int = Field(default_factory=int)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two revisions of a site, as rendered.

    Parameters
    ----------
    changes : the documents that differ.
    parts : for each node the objects that shape it, in either revision.
    """

    changes: Mapping[ObjectKey, DocumentChange]
    parts: Mapping[str, frozenset[ObjectKey]]

    def of_node(self, node: str) -> list[dict[str, Any]]:
        """Return what differs for a node as `NodeDifference` describes it, its own document first."""
        found = [self.changes[key] for key in self.parts.get(node, ()) if key in self.changes]
        left = MOST_FIELDS
        shown = []
        for change in sorted(found, key=lambda one: (one.name != node, one.schema, one.name)):
            entry: dict[str, Any] = {
                "schema": change.schema,
                "name": change.name,
                "change": change.change.value,
                "fields": [shown_field(field) for field in change.fields[:left]],
            }
            if len(change.fields) > left:
                entry["fields_left_out"] = len(change.fields) - left
            left -= len(entry["fields"])
            shown.append(entry)
        return shown


class Comparisons:
    """Comparisons of revisions, which never change: each is made once, by one thread, and the newest are kept."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str, int, int], Future[Comparison]] = OrderedDict()

    def get(
        self, key: tuple[str, str, int, int], make: Callable[[], Comparison], wait: float | None
    ) -> Comparison | None:
        """Return a comparison; None where it takes longer than so many seconds. It is made all the same, and kept.

        Raises what `make` raises; it is called again next time.
        """
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = Future()
                threading.Thread(target=self._make, args=(key, found, make), name="comparison", daemon=True).start()
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        try:
            return found.result(wait)
        except TimeoutError:
            return None

    def _make(self, key: tuple[str, str, int, int], answer: Future[Comparison], make: Callable[[], Comparison]) -> None:
        try:
            made = make()
        except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
            with self._lock:
                if self._known.get(key) is answer:
                    del self._known[key]
            answer.set_exception(error)
        else:
            answer.set_result(made)


COMPARISONS = Comparisons()


def node_differences(
    store: SiteStore, site: str, node: Mapping[str, Any] | None, wait: float | None = None
) -> list[dict[str, Any]] | None:
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
    ApiError : one of the revisions cannot be rendered any more.
    """
    if node is None or node["as_wanted"]:
        return []
    done, wanted = node["done_revision"], node["wanted_revision"]
    if done is None or wanted is None or done == wanted:
        return []
    compared = COMPARISONS.get((store.location, site, done, wanted), lambda: _compare(store, site, done, wanted), wait)
    return None if compared is None else compared.of_node(node["node"])


def _compare(store: SiteStore, site: str, before: int, after: int) -> Comparison:
    sides = []
    parts: defaultdict[str, frozenset[ObjectKey]] = defaultdict(frozenset)
    for revision in (before, after):
        texts = texts_or_empty(store, site, revision)
        with READING.slot():
            rendering = rendering_of(texts, f"revision {revision} of site {site}")
            documents = [item.document for item in rendering.documents]
            for name, keys in parts_of_nodes(design_objects(documents, nodes_from_documents(documents))).items():
                parts[name] |= keys
        sides.append((documents, _secrets(rendering)))
    (old, old_secrets), (new, new_secrets) = sides
    making = frozenset[ObjectKey]().union(*parts.values())
    with READING.slot():
        changes = document_changes(_of(old, making), _of(new, making), old_secrets, new_secrets)
        return Comparison({_key(one): one for one in changes}, dict(parts))


def _key(document: Document | DocumentChange) -> ObjectKey:
    return ObjectKey(kind_of(document.schema), document.name)


def _of(documents: Sequence[Document], making: frozenset[ObjectKey]) -> list[Document]:
    return [document for document in documents if _key(document) in making]


def _secrets(rendering: Rendering) -> SecretPaths:
    return {
        (item.document.schema, item.document.layer, item.document.name): item.secret_paths
        for item in rendering.documents
        if item.secret_paths
    }
