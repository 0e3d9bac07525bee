"""Reading YAML safely into plain JSON values: bounded, duplicate keys noted, unknown tags tolerated, lines kept.

It works on libyaml's events and never recurses, so that no input can exhaust the stack. It knows nothing of schemas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.reader import Reader

from strategy_lib.errors import Problem, Step, path_of

# libyaml where it is there: the same results, about ten times as fast.
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers
_CONSTRUCTOR = SafeConstructor()
_STANDARD = "tag:yaml.org,2002:"
_MERGE = object()
_CACHED_SCALARS = 20_000
MOST_PROBLEMS = 1000
_TOO_LONG = ValueError("... is too long for a number; put it in quotes if it is text")
_INDENTED_BY_TAB = re.compile(r" *\t[\t ]*[^\s#]")
_NO_TABS = "; this line is indented by a tab, which cannot indent YAML: use spaces"
_DIGITS = 4000
# Hexadecimal and other numbers become longer as decimals, which is how JSON has them.
_BITS = 14_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what is read, so that no file can exhaust memory or time.

    Attributes
    ----------
    max_bytes : size of the text.
    max_depth : nesting of lists and mappings, aliases followed.
    max_nodes : YAML nodes of all documents together, every alias counted as if it had been written out.
    max_documents : number of documents.
    max_characters : length of all keys and values together, every alias counted as if it had been written out.
    """

    max_bytes: int = 64 * 1024 * 1024
    max_depth: int = 64
    max_nodes: int = 5_000_000
    max_documents: int = 100_000
    max_characters: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One YAML document: its value and its place in the text (`line` from 1, `start` and `end` in characters).

    Of a key that stands twice in a mapping the value has the last; `repeated` has a problem for each such key,
    a warning where both have one value. After a thousand of them in a text it has only the first of each document.
    """

    value: Any
    line: int
    column: int
    start: int
    end: int
    repeated: tuple[Problem, ...] = ()


class TooMuchError(Exception):
    """A bound was passed, while reading in this line: the message says which. Reading, or rendering, ends here."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class _Frame:
    """A list or mapping that is being read."""

    __slots__ = ("again", "anchor", "before", "container", "height", "key", "keys", "length_before", "merges")

    def __init__(self, container: Any, anchor: str | None, before: int, length_before: int) -> None:
        self.container = container
        self.anchor = anchor
        self.before = before
        self.length_before = length_before
        self.height = 1
        self.key: Any = None
        self.keys: dict[str, int] | None = {} if isinstance(container, dict) else None
        self.merges: list[Any] = []
        # The place among what stands twice of the key whose value comes next; None: it has not stood here before.
        self.again: int | None = None


@dataclass(slots=True)
class YamlReader:
    """Reads the documents of one text; what is wrong is collected in `problems`."""

    text: str
    source: str
    limits: Limits
    problems: list[Problem] = field(default_factory=list)
    _nodes: int = 0
    _length: int = 0
    _documents: int = 0
    _plain: dict[str, Any] = field(default_factory=dict)
    _repeated: list[Problem] = field(default_factory=list)
    _repetitions: int = 0

    def documents(self) -> Iterator[RawDocument]:
        """Yield every document that can be read. After a syntax error, go on at the next `---`."""
        start, first_line = 0, 1
        while True:
            text = self.text[start:] if start else self.text
            try:
                yield from self._stream(text, start, first_line)
            except TooMuchError as error:
                self._problem((), str(error), error.line)
                return
            except yaml.reader.ReaderError:
                self._unreadable_character()
                return
            except yaml.MarkedYAMLError as error:
                mark: Any = error.problem_mark or error.context_mark
                line = mark.line if mark else 0
                begin = _line_start(text, line)
                tab = _INDENTED_BY_TAB.match(text, begin) is not None
                said = f"{_said(error, first_line)}{_NO_TABS if tab else ''}"
                self._problem((), f"this is not YAML: {said}", first_line + line)
                found = re.compile(r"^---(?=\s|$)", re.MULTILINE).search(text, _line_start(text, line + 1))
                if found is None or len(self.problems) >= MOST_PROBLEMS:
                    return
                first_line += text.count("\n", 0, found.start())
                start += found.start()
            else:
                return

    def _stream(self, text: str, offset: int, first_line: int) -> Iterator[RawDocument]:
        parser = _Parser(text)
        next_event = parser.get_event
        try:
            while type(event := next_event()) is not StreamEndEvent:
                if type(event) is DocumentStartEvent:
                    self._documents += 1
                    if self._documents > self.limits.max_documents:
                        most, mark = self.limits.max_documents, event.start_mark
                        raise TooMuchError(f"more than {most} documents", first_line + (mark.line if mark else 0))
                    yield self._document(next_event, offset, first_line)
        finally:
            parser.dispose()

    def _document(self, next_event: Any, offset: int, first_line: int) -> RawDocument:
        self._repeated = []
        stack: list[_Frame] = []
        anchors: dict[str, tuple[Any, int, int, int]] = {}
        root: Any = None
        mark: Any = None
        end = 0
        max_depth, max_nodes, max_length = self.limits.max_depth, self.limits.max_nodes, self.limits.max_characters
        while True:
            event = next_event()
            kind = type(event)
            if mark is None:
                mark = event.start_mark
            if kind is ScalarEvent:
                value, height = self._scalar(event, stack, first_line), 0
                self._nodes += 1
                self._length += len(event.value)
                if event.anchor is not None:
                    anchors[event.anchor] = (value, 1, 0, len(event.value))
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                stack.append(_Frame({} if kind is MappingStartEvent else [], event.anchor, self._nodes, self._length))
                self._nodes += 1
                if event.anchor is not None:
                    # An anchor stands for the new value from here on, which is not complete yet.
                    anchors.pop(event.anchor, None)
                if len(stack) > max_depth:
                    raise TooMuchError(f"nested more than {max_depth} deep", first_line + event.start_mark.line)
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                frame = stack.pop()
                value, height = frame.container, frame.height
                if frame.merges:
                    value = frame.container = _merged(frame)
                if frame.anchor is not None:
                    length = self._length - frame.length_before
                    anchors[frame.anchor] = (value, self._nodes - frame.before, height, length)
            elif kind is AliasEvent:
                known = anchors.get(event.anchor)
                if known is None:
                    message = f"*{event.anchor} must come after the end of the value that &{event.anchor} names"
                    self._problem(_steps(stack), message, first_line + event.start_mark.line)
                    known = (None, 1, 0, 0)
                value, count, height, length = known
                self._nodes += count
                self._length += length
                if len(stack) + height > max_depth:
                    raise TooMuchError(f"nested more than {max_depth} deep", first_line + event.start_mark.line)
            elif kind is DocumentEndEvent:
                line = first_line + mark.line
                repeated = tuple(self._repeated)
                return RawDocument(root, line, mark.column, offset + mark.index, offset + end, repeated)
            if self._nodes > max_nodes:
                message = f"more than {max_nodes} values, every alias counted as if it were written out"
                raise TooMuchError(message, first_line + event.start_mark.line)
            if self._length > max_length:
                message = f"more than {max_length} characters, every alias counted as if it were written out"
                raise TooMuchError(message, first_line + event.start_mark.line)
            if stack:
                self._add(stack, value, height, event, first_line)
            else:
                root = value
                end = event.end_mark.index

    def _add(self, stack: list[_Frame], value: Any, height: int, event: Any, first_line: int) -> None:
        """Put a finished value where it belongs in the innermost open list or mapping."""
        frame = stack[-1]
        if height >= frame.height:
            frame.height = height + 1
        keys = frame.keys
        if keys is None:
            frame.container.append(value)
            return
        key = frame.key
        if key is None:
            line = first_line + event.start_mark.line
            if value is not _MERGE and type(event) is not ScalarEvent:
                self._problem(_steps(stack), "a key must be plain text, not a list, a mapping or an alias", line)
                value = f"(key on line {line})"
            elif value is not _MERGE:
                # The key as it is written: YAML 1.1 would turn `on` and `8080` into something else.
                value = event.value
            name = "<<" if value is _MERGE else value
            if name in keys:
                frame.again = self._repetition((*_steps(stack), name), keys[name], line)
            keys[name] = line
            frame.key = value
            return
        frame.key = None
        again, frame.again = frame.again, None
        if key is not _MERGE:
            if again is not None and _is_same(frame.container.get(key), value):
                self._repeated[again] = _harmless(self._repeated[again])
            frame.container[key] = value
            return
        parts = value if isinstance(value, list) else [value]
        if all(isinstance(part, dict) for part in parts):
            # A later merge key wins over an earlier one; in one list of mappings the earlier wins.
            frame.merges[:0] = parts
        else:
            line = first_line + event.start_mark.line
            self._problem((*_steps(stack), "<<"), "a merge key takes a mapping or a list of mappings", line)

    def _scalar(self, event: Any, stack: list[_Frame], first_line: int) -> Any:
        text: str = event.value
        tag: str | None = event.tag
        if tag is None:
            if not event.implicit[0]:
                return text
            plain = self._plain
            if text in plain:
                value = plain[text]
            else:
                value = _resolve(text)
                if len(plain) < _CACHED_SCALARS:
                    plain[text] = value
        elif tag.startswith(_STANDARD):
            value = _construct(tag, text)
        else:
            return text
        if value is _MERGE and not (stack and stack[-1].keys is not None and stack[-1].key is None):
            return text
        if isinstance(value, ValueError):
            self._problem(_steps(stack), f"{text[:40]!r} {value}", first_line + event.start_mark.line)
            return text
        return value

    def _unreadable_character(self) -> None:
        found = Reader.NON_PRINTABLE.search(self.text)
        position = found.start() if found else 0
        what = f"character U+{ord(self.text[position]):04X}" if found else "a character"
        line = self.text.count("\n", 0, position) + 1
        self._problem((), f"{what} may not stand in YAML; remove it or write it as an escape in double quotes", line)

    def _repetition(self, steps: tuple[Step, ...], first: int, line: int) -> int | None:
        """Note a key that stands twice; return its place among them, None where there are too many to note."""
        self._repetitions += 1
        if self._repetitions > MOST_PROBLEMS and self._repeated:
            return None
        message = f"the key {steps[-1]!r} is already there on line {first}; keep one of them"
        self._repeated.append(Problem(path_of(steps), message, line, source=self.source))
        return len(self._repeated) - 1

    def _problem(self, steps: tuple[Step, ...], message: str, line: int) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(path_of(steps), message, line, source=self.source))


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are one as JSON: `1`, `1.0` and `true` are not."""
    return type(one) is type(other) and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _harmless(problem: Problem) -> Problem:
    """Return the warning that a key stands twice with one value."""
    message = problem.message.replace("; keep", " with the same value; keep")
    return replace(problem, message=message, level="warning")


def _steps(stack: list[_Frame]) -> tuple[Step, ...]:
    """Return the path to the value being read."""
    steps: list[Step] = []
    for frame in stack:
        if frame.keys is None:
            steps.append(len(frame.container))
        elif frame.key is not None:
            steps.append("<<" if frame.key is _MERGE else frame.key)
    return tuple(steps)


def _merged(frame: _Frame) -> dict[str, Any]:
    """Return a mapping with its merge keys applied: its own keys win, then the earlier merge."""
    merged: dict[str, Any] = {}
    for part in reversed(frame.merges):
        merged.update(part)
    merged.update(frame.container)
    return merged


def _resolve(text: str) -> Any:
    """Return the value of a plain scalar by the rules of YAML 1.1, as PyYAML has them."""
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            return _construct(tag, text)
    return text


def _construct(tag: str, text: str) -> Any:
    """Return the value of a scalar with a standard tag; a ValueError is returned, not raised, when it has none.

    Dates stay text, and so do infinities: a document is made of JSON values.
    """
    name = tag.removeprefix(_STANDARD)
    node = yaml.ScalarNode(tag, text)
    try:
        if name == "null":
            return None
        if name == "bool":
            return _CONSTRUCTOR.construct_yaml_bool(node)
        if name == "int":
            if len(text) > _DIGITS:
                return _TOO_LONG
            whole = _CONSTRUCTOR.construct_yaml_int(node)
            return whole if whole.bit_length() <= _BITS else _TOO_LONG
        if name == "float":
            number = _CONSTRUCTOR.construct_yaml_float(node)
            return number if abs(number) < float("inf") else text
        if name == "merge":
            return _MERGE
    except (ValueError, KeyError, IndexError, OverflowError):
        return ValueError(f"is not what its tag !!{name} says")
    return text


def _said(error: yaml.MarkedYAMLError, first_line: int) -> str:
    """Return libyaml's own words, and where the part began that it could not finish."""
    context = error.context
    if context and error.context_mark is not None:
        context = f"{context} that began on line {first_line + error.context_mark.line}"
    return ", ".join(part for part in (context, error.problem) if part)


def _line_start(text: str, line: int) -> int:
    """Return the position where a line (counted from 0) begins, or the end of the text."""
    position = 0
    for _ in range(line):
        found = text.find("\n", position)
        if found < 0:
            return len(text)
        position = found + 1
    return position
