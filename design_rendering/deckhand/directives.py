"""What a document's metadata says about rendering it: read and checked, not carried out.

The shape is Deckhand's `metadata/Document/v1`. What it does not know, or is not supported here, is refused by name.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from design_rendering.deckhand.patterns import Pattern
from design_rendering.reading.documents import Diagnostics, Document
from design_rendering.reading.nested_data import kind_of, steps_of
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import Step, extend

Label = tuple[str, Hashable]

_METADATA = ("labels", "layeringDefinition", "name", "replacement", "schema", "storagePolicy", "substitutions")
_LAYERING = ("abstract", "actions", "layer", "parentSelector")
_ACTION = ("method", "path")
_SUBSTITUTION = ("dest", "src")
_SOURCE = ("deepcopy", "match_group", "name", "path", "pattern", "schema")
_DESTINATION = ("path", "pattern", "recurse")
_RECURSE = ("depth",)
_MOST_UNKNOWN = 20
_LAYERING_PATH = "$.metadata.layeringDefinition"


class Method(StrEnum):
    """What an action does with the data that is inherited from the parent."""

    MERGE = "merge"
    REPLACE = "replace"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Action:
    """One entry of `layeringDefinition.actions`; `place` is its JSON path."""

    method: Method
    steps: tuple[Step, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where a substitution takes its value from: a concrete document, a path in its data, maybe a part of the text."""

    schema: str
    name: str
    steps: tuple[Step, ...]
    pattern: Pattern | None
    group: int


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a substitution puts its value: at a path, or in place of a pattern in the text that is there.

    With a `depth`, in place of the pattern in every text below the path, that many levels down; -1: in all.
    """

    steps: tuple[Step, ...]
    pattern: Pattern | None
    place: str
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Substitution:
    """One entry of `metadata.substitutions`; `place` is its JSON path."""

    source: Source
    destinations: tuple[Destination, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Directives:
    """What the metadata of a document says about rendering it. `selector` is empty for a document without a parent."""

    labels: tuple[Label, ...] = ()
    selector: frozenset[Label] = frozenset()
    actions: tuple[Action, ...] = ()
    replacement: bool = False
    substitutions: tuple[Substitution, ...] = ()


NO_DIRECTIVES = Directives()


def is_control(document: Document) -> bool:
    """Return whether a document steers Deckhand itself (layering policy, schemas): it is not rendered."""
    return str(document.metadata.get("schema")).startswith("metadata/Control/")


def read_directives(document: Document, diagnostics: Diagnostics) -> Directives | None:
    """Return what the metadata says; None, and what is wrong in the diagnostics, where it cannot be used."""
    if is_control(document):
        return NO_DIRECTIVES
    return _Reader(document, diagnostics).directives()


def labels_of(document: Document) -> tuple[Label, ...]:
    """Return the labels by which a document can be found as a parent; none where they cannot be read."""
    labels = document.metadata.get("labels")
    if not isinstance(labels, Mapping):
        return ()
    return tuple((key, value) for key, value in labels.items() if not isinstance(value, dict | list))


class _Reader:
    """Reads the directives of one document."""

    def __init__(self, document: Document, diagnostics: Diagnostics) -> None:
        self.document = document
        self.diagnostics = diagnostics
        self.good = True

    def directives(self) -> Directives | None:
        metadata = self.document.metadata
        for key in islice((key for key in metadata if key not in _METADATA), _MOST_UNKNOWN):
            self._near_miss(key)
        labels = self._labels(metadata.get("labels"))
        replacement = metadata.get("replacement")
        if replacement is not None and not isinstance(replacement, bool):
            self._wrong("$.metadata.replacement", f"must be true or false, not {kind_of(replacement)}")
        selector, actions = self._layering(metadata.get("layeringDefinition"))
        substitutions = self._substitutions(metadata.get("substitutions"))
        if replacement is True and not selector and self.good:
            message = "a document that replaces another needs a parentSelector that selects it, and actions"
            self._wrong("$.metadata.replacement", message)
        if not self.good:
            return None
        if not (labels or selector or substitutions):
            return NO_DIRECTIVES
        return Directives(labels, selector, actions, replacement is True, substitutions)

    def _labels(self, labels: Any) -> tuple[Label, ...]:
        if labels is not None and not isinstance(labels, Mapping):
            self._wrong("$.metadata.labels", f"must be a mapping such as {{hosttype: cp}}, not {kind_of(labels)}")
        return labels_of(self.document)

    def _layering(self, definition: Any) -> tuple[frozenset[Label], tuple[Action, ...]]:
        if definition is None:
            return frozenset(), ()
        if not self._is_mapping(definition, _LAYERING_PATH, _LAYERING, "{layer: site}"):
            return frozenset(), ()
        abstract, layer = definition.get("abstract"), definition.get("layer")
        if abstract is not None and not isinstance(abstract, bool):
            self._wrong(f"{_LAYERING_PATH}.abstract", f"must be true or false, not {kind_of(abstract)}")
        if layer is not None and not isinstance(layer, str):
            self._wrong(f"{_LAYERING_PATH}.layer", f"must be the name of a layer, not {kind_of(layer)}")
        selector = self._selector(definition.get("parentSelector"))
        actions = self._actions(definition.get("actions"))
        if selector and "actions" not in definition:
            message = (
                "actions is missing: say what is to be done with the parent's data, such as {method: merge, path: .}"
            )
            self._wrong(_LAYERING_PATH, message)
        if "actions" in definition and "parentSelector" not in definition:
            self._wrong(f"{_LAYERING_PATH}.actions", "actions need a parentSelector with labels of the parent")
        if selector and layer is None:
            self._wrong(_LAYERING_PATH, "layer is missing: a parent is looked for in the layers above it")
        return selector, actions

    def _selector(self, selector: Any) -> frozenset[Label]:
        if selector is None:
            return frozenset()
        path = f"{_LAYERING_PATH}.parentSelector"
        if not isinstance(selector, Mapping) or not selector:
            self._wrong(path, "must be a mapping of labels of the parent, such as {hosttype: cp}")
            return frozenset()
        for key, value in selector.items():
            if isinstance(value, dict | list):
                self._wrong(path, f"the label {key!r} must be text, not {kind_of(value)}")
                return frozenset()
        return frozenset(selector.items())

    def _actions(self, actions: Any) -> tuple[Action, ...]:
        if actions is None:
            return ()
        path = f"{_LAYERING_PATH}.actions"
        if not isinstance(actions, list) or not actions:
            self._wrong(path, "must be a list of actions such as {method: merge, path: .}")
            return ()
        found = []
        for number, action in enumerate(actions):
            place = f"{path}[{number}]"
            if not self._is_mapping(action, place, _ACTION, "{method: merge, path: .}"):
                continue
            method = action.get("method")
            if method not in tuple(Method):
                known = "merge, replace and delete"
                self._wrong(f"{place}.method", f"{self._shown(method)} is no action; there are {known}")
                continue
            steps = self._path(action.get("path"), f"{place}.path", action_path=True)
            if steps is not None:
                found.append(Action(Method(method), steps, f"{place}.path"))
        return tuple(found)

    def _substitutions(self, substitutions: Any) -> tuple[Substitution, ...]:
        if substitutions is None:
            return ()
        path = "$.metadata.substitutions"
        if not isinstance(substitutions, list):
            self._wrong(path, f"must be a list of mappings with src and dest, not {kind_of(substitutions)}")
            return ()
        found = []
        for number, substitution in enumerate(substitutions):
            place = f"{path}[{number}]"
            if not self._is_mapping(substitution, place, _SUBSTITUTION, "{src: ..., dest: ...}"):
                continue
            source = self._source(substitution.get("src"), f"{place}.src")
            destinations = self._destinations(substitution.get("dest"), f"{place}.dest")
            if source is not None:
                found.append(Substitution(source, destinations, place))
        return tuple(found)

    def _source(self, source: Any, place: str) -> Source | None:
        if not self._is_mapping(source, place, _SOURCE, "{schema: deckhand/Passphrase/v1, name: ..., path: .}"):
            return None
        schema, name = source.get("schema"), source.get("name")
        for key, value in (("schema", schema), ("name", name)):
            if not isinstance(value, str) or not value:
                self._wrong(f"{place}.{key}", f"must be the {key} of the document that is the source")
        steps = self._path(source.get("path"), f"{place}.path", bare=True)
        pattern = self._pattern(source.get("pattern"), f"{place}.pattern")
        group = source.get("match_group", 0)
        most = pattern.groups if pattern is not None else 0
        if not isinstance(group, int) or isinstance(group, bool) or not 0 <= group <= most:
            message = f"must be a whole number from 0 to {most}, the number of groups in the pattern"
            self._wrong(f"{place}.match_group", message)
        if steps is None or not self.good:
            return None
        return Source(str(schema), str(name), steps, pattern, group)

    def _destinations(self, destinations: Any, place: str) -> tuple[Destination, ...]:
        if not isinstance(destinations, list):
            found = self._destination(destinations, place)
            return (found,) if found is not None else ()
        if not destinations:
            self._wrong(place, "must not be an empty list")
        several = [self._destination(item, f"{place}[{number}]") for number, item in enumerate(destinations)]
        return tuple(destination for destination in several if destination is not None)

    def _destination(self, destination: Any, place: str) -> Destination | None:
        if not self._is_mapping(destination, place, _DESTINATION, "{path: .a.b}"):
            return None
        steps = self._path(destination.get("path"), f"{place}.path")
        pattern = self._pattern(destination.get("pattern"), f"{place}.pattern")
        if pattern is not None and pattern.matches_nothing:
            self._wrong(f"{place}.pattern", "also fits where there is nothing; say what is to be replaced")
        depth = self._depth(destination["recurse"], f"{place}.recurse") if "recurse" in destination else None
        if depth is not None and pattern is None:
            message = "counts only beside a pattern; the value is put at the path itself"
            self.diagnostics.warning(self.document, f"{place}.recurse", message)
        return Destination(steps, pattern, place, depth) if steps is not None else None

    def _depth(self, recurse: Any, place: str) -> int | None:
        if not self._is_mapping(recurse, place, _RECURSE, "{depth: -1}"):
            return None
        depth = recurse.get("depth")
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < -1:
            shown = kind_of(depth) if not isinstance(depth, int) or isinstance(depth, bool) else depth
            self._wrong(f"{place}.depth", f"must be a whole number, -1 (all the way down) or more, not {shown}")
            return None
        return depth

    def _path(self, path: Any, place: str, *, action_path: bool = False, bare: bool = False) -> tuple[Step, ...] | None:
        """Return the steps of a path; in actions, and where it may be `bare`, the first dot may be missing."""
        if not isinstance(path, str):
            self._wrong(place, f"must be a path in the data, such as .a.b, not {kind_of(path)}")
            return None
        if path and (action_path or bare) and not path.startswith((".", "$", "[")):
            path = f".{path}"
        try:
            steps = steps_of(path)
        except ValueError as error:
            self._wrong(place, str(error))
            return None
        # Deckhand takes `.data.a` for `.a` here.
        return steps[1:] if action_path and steps[:1] == ("data",) else steps

    def _pattern(self, pattern: Any, place: str) -> Pattern | None:
        if pattern is None or pattern == "":
            return None
        if not isinstance(pattern, str):
            self._wrong(place, f"must be a regular expression, as text, not {kind_of(pattern)}")
            return None
        try:
            return Pattern(pattern)
        except ValueError as error:
            self._wrong(place, str(error))
            return None

    def _is_mapping(self, value: Any, place: str, known: tuple[str, ...], example: str) -> bool:
        if not isinstance(value, Mapping):
            self._wrong(place, f"must be a mapping such as {example}, not {kind_of(value)}")
            return False
        for key in islice((key for key in value if key not in known), _MOST_UNKNOWN):
            hint = did_you_mean(str(key), known, quoted=False)
            self._wrong(extend(place, str(key)), f"{self._shown(key)} is not supported here; {hint}")
        return True

    def _near_miss(self, key: Any) -> None:
        """Refuse a misspelt key. Other unknown keys are allowed here."""
        hint = did_you_mean(str(key), _METADATA, "", cutoff=0.8, quoted=False)
        if hint:
            self._wrong("$.metadata", f"{self._shown(key)} is not known here; {hint}")

    def _shown(self, value: Any) -> str:
        return repr(value[:60]) if isinstance(value, str) else kind_of(value)

    def _wrong(self, path: str, message: str) -> None:
        self.good = False
        self.diagnostics.error(self.document, path, message)
