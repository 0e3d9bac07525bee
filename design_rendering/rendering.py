"""Making the documents that count from those that are written, by Deckhand's rules (docs/rendering.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from design_rendering.deckhand.carrying_out import NotCarriedOut, carry_out, put, take
from design_rendering.deckhand.directives import Directives, Substitution, labels_of, read_directives
from design_rendering.deckhand.document_graph import DocumentGraph, DocumentGraphReader, dependency_order, read_layers
from design_rendering.deckhand.secret_paths import SecretPaths
from design_rendering.reading.budget import Budget
from design_rendering.reading.documents import Diagnostics, Document
from design_rendering.reading.nested_data import CopyOnWrite
from design_rendering.reading.yaml_reader import TooMuchError
from design_rendering.reading.yaml_writer import DocumentWriter
from design_rendering.redaction import is_secret, secret_values
from strategy_lib.did_you_mean import Hints
from strategy_lib.errors import Problem, extend


@dataclass(frozen=True, slots=True)
class RenderedDocument:
    """One document of the rendered design.

    Attributes
    ----------
    document : with rendered data; source and lines are those of the document that was written. What was carried out is
        no longer in its metadata, so that rendering it again changes nothing.
    changed : False when it is just as it was written.
    secret_paths : JSON paths, such as `$.data.oob.credential`, of what was substituted or inherited from a secret.
    """

    document: Document
    changed: bool = False
    secret_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rendering:
    """The rendered design.

    Attributes
    ----------
    documents : the concrete documents, in the order they were given.
    warnings : what deserves a second look.
    secret_parts : the parts of secrets that were taken by a pattern: no document shows that they are secret.
    """

    documents: tuple[RenderedDocument, ...]
    warnings: tuple[Problem, ...] = ()
    secret_parts: frozenset[str] = frozenset()


def render(documents: Sequence[Document]) -> Rendering:
    """Render the documents of a site.

    Abstract documents and replaced ones are left out, and of two with one schema and name the one in the more general
    layer. The documents given are not changed; the rendered ones share parts with them and with each other.

    Raises `RenderingError` with every problem at once.
    """
    return _Renderer(documents).rendering()


def rendered_documents(documents: Sequence[Document]) -> list[Document]:
    """Return the documents that count, rendered. Raises `RenderingError` with every problem at once."""
    return [rendered.document for rendered in render(documents).documents]


@dataclass(frozen=True, slots=True)
class _State:
    """A document as far as it is rendered."""

    data: Any
    secrets: SecretPaths
    changed: bool


class _Renderer:
    """Renders the documents of one design."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._diagnostics = Diagnostics()
        self._diagnostics.read(documents)
        self._budget = Budget()
        self._failed: set[int] = set()
        self._needs: dict[int, list[int]] = {}
        self._states: dict[int, _State] = {}
        self._secret_parts: set[str] = set()
        # Sources that are not there, with the documents and places that want them.
        self._abstract = {(document.schema, document.name) for document in documents if document.abstract}
        self._absent: dict[tuple[str, str], list[tuple[int, str]]] = {}
        self._ranks = read_layers(documents, self._diagnostics)
        self._directives = self._read_directives()
        self._graph: DocumentGraph = DocumentGraphReader(
            documents, self._directives, self._ranks, self._diagnostics
        ).graph()
        self._failed.update(self._graph.failed)

    def rendering(self) -> Rendering:
        for number in self._order():
            # Whatever is made from what has failed cannot be rendered either; one problem says enough.
            if number in self._failed or not self._failed.isdisjoint(self._needs.get(number, ())):
                self._failed.add(number)
                continue
            try:
                self._render(number)
            except TooMuchError as error:
                self._diagnostics.error(self._documents[number], "$", str(error))
                break
        self._diagnostics.raise_errors()
        self._warn_of_absent()
        rendered = tuple(self._rendered(number) for number in range(len(self._documents)) if self._counts(number))
        return Rendering(rendered, self._diagnostics.warnings(), frozenset(self._secret_parts))

    def _read_directives(self) -> list[Directives]:
        found = []
        for number, document in enumerate(self._documents):
            directives = read_directives(document, self._diagnostics)
            if directives is None:
                self._failed.add(number)
            # Its labels are kept, so that its children do not seem to lack a parent.
            found.append(directives or Directives(labels=labels_of(document)))
        return found

    def _order(self) -> list[int]:
        """Return the documents in the order in which they are to be rendered; those in a cycle have failed."""
        for number, directives in enumerate(self._directives):
            needed = [self._graph.parents[number]] if number in self._graph.parents else []
            for substitution in directives.substitutions:
                source = self._source(substitution)
                if source is not None:
                    needed.append(source)
            if needed:
                self._needs[number] = list(dict.fromkeys(needed))
        order, cycles = dependency_order(len(self._documents), self._needs)
        for cycle in cycles:
            self._failed.update(cycle)
            names = " -> ".join(self._name(number) for number in (*cycle, cycle[0]))
            message = f"each of these is made from the next, all the way round: {names}; take one step out"
            self._diagnostics.error(self._documents[cycle[0]], "$.metadata", message)
        return order

    def _name(self, number: int) -> str:
        document = self._documents[number]
        layer = f" ({document.layer})" if document.layer else ""
        return f"{document.schema} {document.name}{layer}"

    def _source(self, substitution: Substitution) -> int | None:
        return self._graph.sources.get((substitution.source.schema, substitution.source.name))

    def _render(self, number: int) -> None:
        document, directives = self._documents[number], self._directives[number]
        parent = self._graph.parents.get(number)
        if parent is None and not directives.substitutions:
            if document.marks is None:
                # What was read is bounded already.
                self._budget.keep(document.data)
            self._states[number] = _State(document.data, SecretPaths(), changed=False)
            return
        result, secrets = CopyOnWrite(document.data), SecretPaths()
        if parent is not None:
            above = self._states[parent]
            result = CopyOnWrite({} if above.data is None else above.data)
            secrets = SecretPaths(True) if is_secret(self._documents[parent]) else above.secrets.copy()
            for action in directives.actions:
                try:
                    carry_out(action, document.data, result, secrets, self._budget)
                except NotCarriedOut as error:
                    self._refuse(number, action.place, str(error))
                    break
        changed = parent is not None
        for substitution in directives.substitutions:
            changed |= self._substitute(number, substitution, result, secrets)
        if number not in self._failed:
            self._budget.keep(result.data)
            self._states[number] = _State(result.data, secrets, changed)

    def _substitute(self, number: int, substitution: Substitution, result: CopyOnWrite, secrets: SecretPaths) -> bool:
        """Carry out one substitution; False when its source is not there. What is wrong makes the document fail."""
        source, place = substitution.source, substitution.place
        origin = self._source(substitution)
        if origin is None:
            if (source.schema, source.name) in self._abstract:
                message = f"{source.schema} {source.name} is abstract; a source of substitutions must be concrete"
                self._refuse(number, f"{place}.src", message)
                return False
            self._absent.setdefault((source.schema, source.name), []).append((number, f"{place}.src"))
            return False
        path = f"{place}.src"
        state = self._states[origin]
        try:
            tainted = SecretPaths(True) if is_secret(self._documents[origin]) else state.secrets
            taken = take(source, state.data, tainted, self._budget)
            if taken.secret and source.pattern is not None:
                self._secret_parts.add(taken.value)
            for where, message in taken.warnings:
                self._diagnostics.warning(self._documents[number], path + where, message)
            for destination in substitution.destinations:
                path = destination.place
                warning = put(destination, taken, result, secrets, self._budget)
                if warning is not None:
                    self._diagnostics.warning(self._documents[number], f"{path}.pattern", warning)
        except NotCarriedOut as error:
            self._refuse(number, path + error.path, str(error))
        return True

    def _refuse(self, number: int, path: str, message: str) -> None:
        self._failed.add(number)
        self._diagnostics.error(self._documents[number], path, message)

    def _warn_of_absent(self) -> None:
        """Warn once of each source that is not there: a part of a site may be rendered by itself."""
        hints, names = Hints(), defaultdict[str, list[str]](list)
        for schema, name in self._graph.sources if self._absent else ():
            names[schema].append(name)
        for (schema, name), wanted in self._absent.items():
            number, path = wanted[0]
            more = f" (substitutions that want it: {len(wanted)})" if len(wanted) > 1 else ""
            more += hints.of(name, names[schema])
            message = f"there is no {schema} named {name!r}, so that nothing is put in here{more}"
            self._diagnostics.warning(self._documents[number], path, message)

    def _counts(self, number: int) -> bool:
        """Return whether a document is part of the rendered design."""
        document = self._documents[number]
        if document.abstract or number in self._graph.replaced_by or number in self._graph.outranked:
            return False
        other = self._documents[self._graph.sources[document.schema, document.name]]
        rank = self._ranks.get(document.layer)
        if rank is None or rank >= self._ranks.get(other.layer, -1):
            return True
        message = (
            f"not used: the layer {other.layer} has a {document.schema} {document.name} too, and is more specific. "
            "To change what is here, let that one replace it (replacement: true)"
        )
        self._diagnostics.warning(document, "$", message)
        return False

    def _rendered(self, number: int) -> RenderedDocument:
        document, state = self._documents[number], self._states[number]
        if not state.changed:
            return RenderedDocument(document)
        rendered = replace(document, data=state.data, metadata=_carried_out(document.metadata))
        paths = tuple(extend("$.data", *steps) for steps in state.secrets.paths())
        return RenderedDocument(rendered, changed=True, secret_paths=paths)


def _carried_out(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the directives that were carried out."""
    left = {key: value for key, value in metadata.items() if key not in ("replacement", "substitutions")}
    layering = left.get("layeringDefinition")
    if isinstance(layering, Mapping):
        left["layeringDefinition"] = {
            key: value for key, value in layering.items() if key not in ("actions", "parentSelector")
        }
    return left


def design_text(rendering: Rendering) -> str:
    """Return the rendered design as a YAML stream.

    A document that rendering left alone is there as it was written, comments included; the others are written anew, and
    so are those in which a key stands twice.
    Secrets are in it: see `redaction.py` for what may be shown to everybody.
    """
    writer = DocumentWriter()
    parts = []
    for rendered in rendering.documents:
        parts.append("---\n")
        parts.append(writer.anew(rendered.document) if rendered.changed else writer.written(rendered.document))
    return "".join(parts)


def secret_texts(documents: Sequence[Document], rendering: Rendering) -> frozenset[str]:
    """Return the secrets of documents as they were written and as they are rendered, and the parts taken of them."""
    changed = [rendered.document for rendered in rendering.documents if rendered.changed]
    return secret_values([*documents, *changed], rendering.secret_parts)
