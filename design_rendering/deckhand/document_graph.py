"""Layers, and which document is made from which: parents, replacements, sources, and the order of rendering.

Documents are called by their position in the design here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from design_rendering.deckhand.directives import Directives, Label, is_control
from design_rendering.reading.documents import DEFAULT_LAYERS, READ_KINDS, Diagnostics, Document

POLICY_SCHEMA = "deckhand/LayeringPolicy/v1"
_MOST_LAYERS = 1000
_SELECTOR = "$.metadata.layeringDefinition.parentSelector"
_REPLACEMENT = "$.metadata.replacement"
# Below every rank of a layer.
_NO_LAYER = -1
_OTHER_SCHEMA = -2

_MOST_NAMED = 2000


def read_layers(documents: Sequence[Document], diagnostics: Diagnostics) -> Mapping[str | None, int]:
    """Return the rank of each layer, the most general first; note every document in one that the policy has not."""
    policies = [document for document in documents if document.schema == POLICY_SCHEMA]
    names = DEFAULT_LAYERS
    if policies:
        policy, *others = policies
        for other in others:
            place = f"{policy.source} line {policy.line}" if policy.line else policy.source
            diagnostics.error(other, "$", f"there is already a {POLICY_SCHEMA} at {place}; keep one of them")
        order = policy.data.get("layerOrder") if isinstance(policy.data, Mapping) else None
        if not isinstance(order, list) or not _is_order(order):
            message = "must be a list of layers, each once, the most general first: [global, type, site]"
            diagnostics.error(policy, "$.data.layerOrder", message)
            return {}
        names = tuple(order)
    known = ", ".join(names[:20])
    ranks: dict[str | None, int] = {name: rank for rank, name in enumerate(names)}
    for document in documents:
        layer = document.layer
        if layer is None or layer in ranks or is_control(document):
            continue
        if policies:
            message = f"there is no layer {layer!r}; the layers are {known}, by {policies[0].label}"
            diagnostics.error(document, "$.metadata.layeringDefinition.layer", message)
        elif "parentSelector" in document.metadata.get("layeringDefinition", {}):
            message = (
                f"there is no layer {layer!r}; without a {POLICY_SCHEMA} the layers are {known}. "
                "Add one with this layer in its data.layerOrder"
            )
            diagnostics.error(document, "$.metadata.layeringDefinition.layer", message)
    return ranks


def _is_order(order: list[object]) -> bool:
    return (
        0 < len(order) <= _MOST_LAYERS
        and all(isinstance(name, str) and name for name in order)
        and len(set(order)) == len(order)
    )


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """How the documents of a design depend on each other.

    Attributes
    ----------
    parents : document to the one it is layered on; the replacement of its parent where there is one.
    replaced_by : document to the one that replaces it.
    sources : schema and name to the document that substitutions take values from.
    failed : documents with a problem in this.
    outranked : documents that are not used, because another one in a more specific layer replaces the same document.
    """

    parents: Mapping[int, int]
    replaced_by: Mapping[int, int]
    sources: Mapping[tuple[str, str], int]
    failed: frozenset[int]
    outranked: frozenset[int] = frozenset()


class DocumentGraphReader:
    """Finds out the graph of the documents of a design."""

    def __init__(
        self,
        documents: Sequence[Document],
        directives: Sequence[Directives],
        ranks: Mapping[str | None, int],
        diagnostics: Diagnostics,
    ) -> None:
        self._documents = documents
        self._directives = directives
        self._ranks = ranks
        self._diagnostics = diagnostics
        self._failed: set[int] = set()
        self._outranked: set[int] = set()
        self._by_label = self._labelled()
        self._fitting: dict[tuple[str, frozenset[Label]], dict[int, list[int]]] = {}
        # Selectors that fit nothing at all, with the documents that have them.
        self._absent: dict[tuple[str, frozenset[Label]], list[int]] = {}

    def graph(self) -> DocumentGraph:
        """Return the graph; problems and warnings are in the diagnostics."""
        chosen = {}
        for number, directives in enumerate(self._directives):
            if directives.selector:
                parent = self._parent(number)
                if parent is not None:
                    chosen[number] = parent
        self._warn_of_absent()
        replaced_by = self._replacements(chosen)
        parents = {}
        for number, parent in chosen.items():
            replacement = replaced_by.get(parent, number)
            parents[number] = parent if replacement == number else replacement
        sources = self._sources(replaced_by)
        return DocumentGraph(parents, replaced_by, sources, frozenset(self._failed), frozenset(self._outranked))

    def _labelled(self) -> dict[Label, list[int]]:
        """Return which documents have each label that is asked for."""
        wanted = {label for directives in self._directives for label in directives.selector}
        labelled: dict[Label, list[int]] = {}
        if wanted:
            for number, directives in enumerate(self._directives):
                for label in directives.labels:
                    if label in wanted:
                        labelled.setdefault(label, []).append(number)
        return labelled

    def _parent(self, number: int) -> int | None:
        """Return the parent: of the documents that have the labels, the one in the nearest layer above."""
        document = self._documents[number]
        rank = self._ranks.get(document.layer)
        if rank is None:
            self._failed.add(number)
            return None
        fitting = self._fitting_by_rank(document.schema, self._directives[number].selector)
        above = sorted(other for other in fitting if 0 <= other < rank)
        for other in above:
            if len(fitting[other]) > 1:
                self._refuse_several(number, fitting[other])
                return None
        if above:
            return fitting[above[-1]][0]
        self._none_above(number, fitting)
        return None

    def _fitting_by_rank(self, schema: str, selector: frozenset[Label]) -> Mapping[int, list[int]]:
        """Return the documents with these labels by the rank of their layer.

        Those of another schema are at _OTHER_SCHEMA, those of an unknown layer at _NO_LAYER.
        """
        key = (schema, selector)
        known = self._fitting.get(key)
        if known is not None:
            return known
        fitting: dict[int, list[int]] = {}
        rarest = min((self._by_label.get(label, []) for label in selector), key=len)
        for number in rarest:
            if selector.issubset(self._directives[number].labels):
                other = self._documents[number]
                rank = self._ranks.get(other.layer, _NO_LAYER) if other.schema == schema else _OTHER_SCHEMA
                fitting.setdefault(rank, []).append(number)
        self._fitting[key] = fitting
        return fitting

    def _refuse_several(self, number: int, fitting: Sequence[int]) -> None:
        self._failed.add(number)
        names = ", ".join(repr(self._documents[other].name) for other in fitting[:5])
        names += f" and {len(fitting) - 5} more" if len(fitting) > 5 else ""
        layer = self._documents[fitting[0]].layer
        message = f"fits {len(fitting)} documents of the layer {layer}: {names}; a document has one parent"
        self._diagnostics.error(self._documents[number], _SELECTOR, message)

    def _none_above(self, number: int, fitting: Mapping[int, Sequence[int]]) -> None:
        """Note that there is no parent: an error where there is a wrong one, else a warning, for it may come later."""
        document = self._documents[number]
        if self._directives[number].replacement:
            self._failed.add(number)
            message = "there is nothing to replace: no document in a layer above has the labels of the parentSelector"
            self._diagnostics.error(document, _REPLACEMENT, message)
            return
        wrong = next((other for others in fitting.values() for other in others if other != number), None)
        if wrong is None:
            self._absent.setdefault((document.schema, self._directives[number].selector), []).append(number)
            return
        self._failed.add(number)
        other = self._documents[wrong]
        if other.schema != document.schema:
            why = f"is a {other.schema}; a parent has the schema of its child"
        else:
            why = f"is in the layer {other.layer}; a parent is in a layer above {document.layer}"
        self._diagnostics.error(document, _SELECTOR, f"fits {other.name!r}, which {why}")

    def _warn_of_absent(self) -> None:
        """Warn once of each parent that is not there: thousands of nodes may have the same."""
        for (schema, selector), numbers in self._absent.items():
            labels = ", ".join(sorted(f"{key}: {value}" for key, value in selector))
            more = f" (documents with this parentSelector: {len(numbers)})" if len(numbers) > 1 else ""
            message = (
                f"no {schema} in a layer above has the labels {labels}; the document is used without a parent{more}"
            )
            self._diagnostics.warning(self._documents[numbers[0]], _SELECTOR, message)

    def _replacements(self, parents: Mapping[int, int]) -> dict[int, int]:
        """Return which document replaces which, by the rules of Deckhand."""
        replaced_by: dict[int, int] = {}
        for number, parent in parents.items():
            document, other = self._documents[number], self._documents[parent]
            same = document.name == other.name
            if not self._directives[number].replacement:
                message = (
                    f"{document.name!r} is also the name of the parent; add replacement: true to replace it, "
                    "or choose another name"
                )
                wrong = message if same else None
            elif not same:
                wrong = f"the parentSelector fits {other.name!r}; a document replaces one of its own name only"
            elif self._directives[parent].replacement:
                wrong = f"what is in the layer {other.layer} is a replacement itself, and cannot be replaced"
            else:
                wrong = self._second(number, replaced_by[parent]) if parent in replaced_by else None
                if parent not in replaced_by or replaced_by[parent] in self._outranked:
                    replaced_by[parent] = number
            if wrong is not None:
                self._failed.add(number)
                path = _REPLACEMENT if self._directives[number].replacement else "$.metadata.name"
                self._diagnostics.error(document, path, wrong)
        return replaced_by

    def _second(self, number: int, first: int) -> str | None:
        """Judge the second document that replaces one: return what is wrong, or None where one of the two is used.

        Deckhand takes the one that it comes to last, which is the more specific one in all but odd orders of files.
        """
        document, other = self._documents[number], self._documents[first]
        if document.schema in READ_KINDS or self._rank(number) == self._rank(first):
            place = f"the one in the layer {other.layer}"
            return f"{document.name!r} is already replaced by {place}; let one of them replace it"
        unused, used = (first, other), (number, document)
        if self._rank(number) < self._rank(first):
            unused, used = used, unused
        self._outranked.add(unused[0])
        message = (
            f"not used: {document.name!r} is replaced by the one in the layer {used[1].layer}, too; keep one of them"
        )
        self._diagnostics.warning(unused[1], _REPLACEMENT, message)
        return None

    def _sources(self, replaced_by: Mapping[int, int]) -> dict[tuple[str, str], int]:
        """Return the concrete documents by schema and name, the most specific layer of each."""
        sources: dict[tuple[str, str], int] = {}
        for number, document in enumerate(self._documents):
            if document.abstract or number in replaced_by:
                continue
            known = sources.setdefault((document.schema, document.name), number)
            if self._rank(number) > self._rank(known):
                sources[document.schema, document.name] = number
        return sources

    def _rank(self, number: int) -> int:
        return self._ranks.get(self._documents[number].layer, _NO_LAYER)


def dependency_order(count: int, needs: Mapping[int, Sequence[int]]) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return documents 0 to `count` - 1, each after those it depends on by `needs`; and the cycles that were found.

    It keeps the given order, except that dependencies come first. Where there is a cycle, the order holds for the
    documents that do not depend on it. The first document of a cycle depends on the second, and the last on the first.
    """
    order: list[int] = []
    cycles: list[tuple[int, ...]] = []
    named = 0
    begun: dict[int, int] = {}
    finished: set[int] = set()
    for start in range(count):
        if start in begun:
            continue
        begun[start] = 0
        path = [start]
        waiting: list[Iterator[int]] = [iter(needs.get(start, ()))]
        while path:
            needed = next(waiting[-1], None)
            if needed is None:
                waiting.pop()
                number = path.pop()
                finished.add(number)
                order.append(number)
            elif needed not in begun:
                begun[needed] = len(path)
                path.append(needed)
                waiting.append(iter(needs.get(needed, ())))
            elif needed not in finished and named < _MOST_NAMED:
                cycle = tuple(path[begun[needed] :])
                named += len(cycle)
                cycles.append(cycle)
    return order, cycles
