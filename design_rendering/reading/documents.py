"""The documents of a site: reading many from one YAML text, finding one by its name, and what is wrong in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from design_rendering import drydock_kinds, slipway_kinds
from design_rendering.reading.line_marks import LineMarks
from design_rendering.reading.yaml_reader import MOST_PROBLEMS, Limits, RawDocument, YamlReader
from strategy_lib.errors import Problem, StrategyLibError, split
from strategy_lib.parsing.configuration import CONFIGURATION_SCHEMA
from strategy_lib.strategy import STRATEGY_SCHEMA

# What in these is unclear could change what is deployed: it is refused. Elsewhere Slipway takes what Deckhand takes.
READ_KINDS = frozenset(
    {
        STRATEGY_SCHEMA,
        CONFIGURATION_SCHEMA,
        *drydock_kinds.NODE_MAKERS,
        *slipway_kinds.NODE_MAKERS,
        "deckhand/LayeringPolicy/v1",
    }
)

# The more specific layer wins where one name is defined in several (Airship's order of layers).
DEFAULT_LAYERS = ("global", "type", "region", "site")


class DocumentError(StrategyLibError):
    """The documents cannot be read. Mend the YAML, or add the documents that are missing."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a site's design.

    Attributes
    ----------
    schema, name : what it is, and `metadata.name`.
    layer : `metadata.layeringDefinition.layer`, None where there is none.
    data, metadata : what stands under these keys, as JSON values. Not to be changed: YAML aliases share parts.
    source : name of the text it was read from.
    line : line of its first key, from 1; 0 when it was not read from a text.
    warnings : what reading it found, each of level "warning": keys that stand twice in a mapping.
    """

    schema: str
    name: str
    layer: str | None
    data: Any
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str = "<text>"
    line: int = 0
    marks: LineMarks | None = field(default=None, repr=False, compare=False)
    warnings: tuple[Problem, ...] = field(default=(), repr=False, compare=False)

    @property
    def label(self) -> str:
        """How messages call it: `site.yaml: shipyard/DeploymentStrategy/v1 deployment-strategy`."""
        return f"{self.source}: {self.schema} {self.name}"

    @property
    def abstract(self) -> bool:
        """True for a document that is only a base for others to be layered on."""
        layering = self.metadata.get("layeringDefinition")
        return isinstance(layering, dict) and layering.get("abstract") is True

    def line_of(self, path: str) -> int | None:
        """Return the line of a JSON path from the document's root `$`, or of its nearest ancestor that is there."""
        if self.marks is None:
            return self.line or None
        return self.marks.line_of(split(path))

    def problem(self, path: str, message: str, level: Literal["error", "warning"] = "error") -> Problem:
        """Return a problem of this document, with its line."""
        return Problem(path, message, self.line_of(path), self.label, level, self.source)


def load_documents(text: str | bytes, source: str = "<text>", limits: Limits | None = None) -> list[Document]:
    """Read all documents of a YAML text.

    Unknown tags such as `!include` are tolerated and read as the value they stand on. Keys are taken as written; of one
    that stands twice in a mapping the last is taken, with a warning. Empty documents are left out.

    Parameters
    ----------
    text : UTF-8 bytes, or text.
    source : what messages call the text, usually a file name.
    limits : bounds on what is read; the default suits sites of 20,000 documents.

    Raises
    ------
    DocumentError : with every problem at once: syntax, broken limits, documents without schema or name, and duplicate
        keys with different values in documents of `READ_KINDS`.
    """
    bounds = limits or Limits()
    reader = YamlReader(_decoded(text, source, bounds), source, bounds)
    problems: list[Problem] = []
    documents = []
    for raw in reader.documents():
        if raw.value is not None:
            document = _document(raw, reader.text, source, problems)
            if document is not None:
                documents.append(document)
            if len(problems) >= MOST_PROBLEMS:
                message = f"reading ended here, after {MOST_PROBLEMS} problems"
                problems.append(Problem("$", message, raw.line, source=source))
                break
    problems.extend(reader.problems)
    if problems:
        problems.sort(key=lambda problem: problem.line or 0)
        raise DocumentError(problems)
    return documents


def find_documents(documents: Iterable[Document], schema: str) -> dict[str, Document]:
    """Return the documents of a schema by name, the most specific layer of each, abstract ones left out.

    Raises `DocumentError` for every pair of documents with the same schema, layer and name.
    """
    found: dict[str, Document] = {}
    seen: dict[tuple[str, str | None], Document] = {}
    problems = []
    for document in documents:
        if document.schema != schema or document.abstract:
            continue
        twin = seen.setdefault((document.name, document.layer), document)
        if twin is not document:
            where = f"{twin.source} line {twin.line}" if twin.line else twin.source
            message = f"there is already a {schema} named {document.name!r} at {where}; keep one of them"
            problems.append(document.problem("$", message))
            continue
        other = found.get(document.name)
        if other is None or _rank(document) > _rank(other):
            found[document.name] = document
    if problems:
        raise DocumentError(problems)
    return found


def find_document(documents: Iterable[Document], schema: str) -> Document | None:
    """Return the one document of this schema, None if there is none.

    Raises `DocumentError` when there are several.
    """
    found = find_documents(documents, schema)
    if len(found) > 1:
        first, *others = found.values()
        message = f"there may be only one {schema}, and {first.name!r} is one already; keep one of them"
        raise DocumentError(other.problem("$", message) for other in others)
    return next(iter(found.values()), None)


def _rank(document: Document) -> int:
    return DEFAULT_LAYERS.index(document.layer) if document.layer in DEFAULT_LAYERS else -1


def _decoded(text: str | bytes, source: str, limits: Limits) -> str:
    try:
        raw = text.encode() if isinstance(text, str) else text
        if len(raw) > limits.max_bytes:
            message = f"{len(raw)} bytes are more than the {limits.max_bytes} that are read; split the file"
            raise DocumentError([Problem("$", message, source=source)])
        decoded = text if isinstance(text, str) else raw.decode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1 if isinstance(text, str) else None
        raise DocumentError(
            [Problem("$", "half a character (a lone surrogate); save as UTF-8", line, source=source)]
        ) from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise DocumentError([Problem("$", message, line, source=source)]) from None
    return decoded.removeprefix("\ufeff")


def _document(raw: RawDocument, text: str, source: str, problems: list[Problem]) -> Document | None:
    """Return the document, or None with what it lacks added to `problems`."""
    value = raw.value
    if not isinstance(value, dict):
        message = "a document must be a mapping with schema, metadata and data"
        problems.append(Problem("$", message, raw.line, source=source))
        return None
    metadata = value.get("metadata")
    schema = value.get("schema")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    marks = LineMarks(text, raw.start, raw.end, raw.line, raw.column)
    lacking = []
    if not isinstance(schema, str) or not schema:
        lacking.append(("schema", "must say what the document is, such as shipyard/DeploymentStrategy/v1"))
    if not isinstance(name, str) or not name:
        lacking.append(("metadata.name", "must be the document's name, as text"))
    for path, message in lacking:
        problems.append(Problem(f"$.{path}", message, marks.line_of(split(f"$.{path}")), source=source))
    if raw.repeated and schema in READ_KINDS:
        problems.extend(one for one in raw.repeated if one.level == "error")
    if lacking or not isinstance(metadata, dict) or not isinstance(schema, str) or not isinstance(name, str):
        return None
    layering = metadata.get("layeringDefinition")
    layer = layering.get("layer") if isinstance(layering, dict) else None
    document = Document(
        schema=schema,
        name=name,
        layer=layer if isinstance(layer, str) else None,
        data=value.get("data"),
        metadata=metadata,
        source=source,
        line=raw.line,
        marks=marks,
    )
    return replace(document, warnings=_taken(raw.repeated, document.label)) if raw.repeated else document


def _taken(repeated: Iterable[Problem], label: str) -> tuple[Problem, ...]:
    """Return the warnings that of each of these keys the last is taken."""
    return tuple(
        replace(
            one,
            message=one.message
            if one.level == "warning"
            else one.message.replace("keep one of them", "this one is taken"),
            document=label,
            level="warning",
        )
        for one in repeated
    )


class RenderingError(StrategyLibError):
    """The documents cannot be rendered. Mend the layering and the substitutions listed below."""


class Diagnostics:
    """Collects errors and warnings; past a thousand of either they are only counted."""

    def __init__(self) -> None:
        self._errors: list[Problem] = []
        self._warnings: list[Problem] = []
        self.more_errors = 0
        self.more_warnings = 0

    def error(self, document: Document, path: str, message: str) -> None:
        """Note what makes rendering impossible."""
        if len(self._errors) < MOST_PROBLEMS:
            self._errors.append(document.problem(path, message))
        else:
            self.more_errors += 1

    def warning(self, document: Document, path: str, message: str) -> None:
        """Note what deserves a second look."""
        if len(self._warnings) < MOST_PROBLEMS:
            self._warnings.append(document.problem(path, message, "warning"))
        else:
            self.more_warnings += 1

    def read(self, documents: Iterable[Document]) -> None:
        """Note what was found when the documents were read."""
        found = [warning for document in documents for warning in document.warnings]
        kept = found[: MOST_PROBLEMS - len(self._warnings)]
        self._warnings += kept
        self.more_warnings += len(found) - len(kept)

    def warnings(self) -> tuple[Problem, ...]:
        more = f"there are {self.more_warnings} more warnings like these"
        return (*self._warnings, *((Problem("$", more, level="warning"),) if self.more_warnings else ()))

    def raise_errors(self) -> None:
        """Raise what was found. Raises `RenderingError` with all errors, if there are any."""
        if self._errors:
            more = f"there are {self.more_errors} more problems like these"
            raise RenderingError([*self._errors, *([Problem("$", more)] if self.more_errors else [])])
