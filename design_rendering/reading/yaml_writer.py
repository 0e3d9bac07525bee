"""Writing documents as YAML: as they were written, or anew in block style, fast.

PyYAML's dumper takes half a minute for ten thousand documents, and this a second: most of what they hold is shared. A
text is plain where no reader can take it for anything else, a literal block where it has several clean lines, and in
double quotes otherwise. There are no anchors: the caller bounds the size of what is written out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from design_rendering.reading.budget import Budget
from design_rendering.reading.documents import Document, RenderingError
from design_rendering.reading.nested_data import CONTAINERS, items_of
from design_rendering.reading.yaml_reader import TooMuchError

_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers
_PLAIN = re.compile(r"[A-Za-z/](?:[\w./@+=%-]|[ :](?=[\w./@+=%-]))*\Z", re.ASCII)
# Booleans of other YAML readers.
_WORDS = frozenset({"y", "Y", "n", "N"})
# What JSON leaves as it is and YAML does not allow, or takes for the end of a line.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_UNCLEAN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]| (?=\n)| \\Z")
_LONGEST_KEY = 1000
_LONGEST_KNOWN = 100
_MOST_KNOWN = 50_000
# Larger parts are rarely shared, and remembering them at every level would take much memory.
_LARGEST_PART = 8000
_MOST_PIECES = 200
_MOST_REMEMBERED = 16 * 1024 * 1024

# What may be a tag. `!include` and the like are read as the value they stand on, which nobody else does.
_TAG = re.compile(r"(?:^|[\s\[{,:-])!\S", re.MULTILINE)
_BLOCK_SCALAR = re.compile(r"[|>]")


class _Frame:
    """A list or mapping that is being written, at an indentation; `begin` is the place of its first piece."""

    __slots__ = ("begin", "first", "indent", "items", "mapping", "value")

    def __init__(self, value: Any, indent: int, begin: int) -> None:
        self.value = value
        self.indent = indent
        self.begin = begin
        self.mapping = isinstance(value, dict)
        self.items: Iterator[tuple[Any, Any]] = iter(items_of(value))
        self.first = True


class BlockYaml:
    """Writes values; remembers the text of small parts, so that what many documents share is written once."""

    def __init__(self) -> None:
        # How a key, and a text that is a value, are written: with the colon, and to the end of the line.
        self._keys: dict[str, str] = {}
        self._scalars: dict[str, str] = {}
        # By identity and indentation; with the value itself, so that its identity is not used again.
        self._parts: dict[tuple[int, int], tuple[Any, str]] = {}
        self._remembered = 0

    def text(self, value: dict[str, Any]) -> str:
        """Return a mapping as the text of a YAML document without its `---`; it ends with a newline."""
        if self._remembered > _MOST_REMEMBERED:
            self._parts.clear()
            self._remembered = 0
        if not value:
            return "{}\n"
        pieces: list[str] = []
        frames = [_Frame(value, 0, 0)]
        while frames:
            inner = self._next_part(frames[-1], pieces)
            if inner is None:
                self._remember(frames.pop(), pieces)
            else:
                frames.append(inner)
        return "".join(pieces)

    def _next_part(self, frame: _Frame, pieces: list[str]) -> _Frame | None:
        """Write on until there is a list or mapping inside to be written first; None at the end."""
        keys, scalars, add = self._keys, self._scalars, pieces.append
        indent, mapping = frame.indent, frame.mapping
        pad = " " * indent
        for key, below in frame.items:
            if not frame.first:
                add(pad)
            frame.first = False
            add((keys.get(key) or self._key(str(key), indent)) if mapping else "-")
            kind = type(below)
            if kind is str:
                add(scalars.get(below) or f" {self._text(below, indent + 2)}\n")
            elif (kind is dict or kind is list) and below:
                inner = indent if mapping and kind is list else indent + 2
                add("\n" + " " * inner if mapping else " ")
                known = self._parts.get((id(below), inner))
                if known is None:
                    return _Frame(below, inner, len(pieces))
                add(known[1])
            else:
                add(f" {_scalar(below)}\n")
        return None

    def _remember(self, frame: _Frame, pieces: list[str]) -> None:
        if len(pieces) - frame.begin > _MOST_PIECES:
            return
        part = "".join(pieces[frame.begin :])
        pieces[frame.begin :] = [part]
        if len(part) <= _LARGEST_PART:
            self._parts[id(frame.value), frame.indent] = (frame.value, part)
            self._remembered += len(part)

    def _key(self, key: str, indent: int) -> str:
        text = key if _is_plain(key) else _quoted(key)
        if len(text) > _LONGEST_KEY:
            # YAML takes only short ones for keys that stand by themselves.
            return f"? {text}\n{' ' * indent}:"
        return self._keep(self._keys, key, f"{text}:")

    def _text(self, text: str, indent: int) -> str:
        if "\n" in text and len(text) > 1:
            return _literal(text, indent) or _quoted(text)
        shown = text if _is_plain(text) else _quoted(text)
        self._keep(self._scalars, text, f" {shown}\n")
        return shown

    def _keep(self, known: dict[str, str], text: str, shown: str) -> str:
        """Remember how a short text is written."""
        if len(text) <= _LONGEST_KNOWN:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[text] = shown
        return shown


def _scalar(value: Any) -> str:
    """Return what is no text, or has nothing in it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, CONTAINERS):
        return "{}" if isinstance(value, dict) else "[]"
    return _quoted(str(value))


def _is_plain(text: str) -> bool:
    if len(text) > _LONGEST_KEY or not _PLAIN.match(text) or text in _WORDS:
        return False
    return not any(pattern.match(text) for _, pattern in _RESOLVERS.get(text[0], ()))


def _quoted(text: str) -> str:
    return _UNPRINTABLE.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _literal(text: str, indent: int) -> str | None:
    """Return a text of several lines as a literal block; None where that would not be safe, or mostly indentation."""
    if text[0] in " \n" or text.count("\n") * indent > len(text) or _UNCLEAN.search(text):
        return None
    if not text.endswith("\n"):
        header, body = "|-", text
    else:
        header, body = ("|+" if text.endswith("\n\n") else "|"), text[:-1]
    pad = " " * indent
    lines = "\n".join(pad + line if line else "" for line in body.split("\n"))
    return f"{header}\n{lines}"


def _float(value: float) -> str:
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else (".inf" if value > 0 else "-.inf")
    text = repr(value)
    # YAML 1.1 knows a number with an exponent by its point.
    return text.replace("e", ".0e", 1) if "e" in text and "." not in text else text


class DocumentWriter:
    """Writes documents; one writer for many of them is faster than one for each."""

    def __init__(self) -> None:
        self._yaml = BlockYaml()
        self._budget = Budget()

    def dumped(self, document: Document) -> str:
        """Return the document as YAML, without comments; ends with a newline.

        Raises `RenderingError` when it is too large, or nested too deep, to be read again: aliases are written out.
        """
        try:
            self._budget.keep(document.metadata)
            self._budget.keep(document.data)
        except TooMuchError as error:
            raise RenderingError([document.problem("$", str(error))]) from None
        return self.anew(document)

    def anew(self, document: Document) -> str:
        """Return the document as `dumped` does, when its size is known to be bounded: it was rendered."""
        return self._yaml.text({"schema": document.schema, "metadata": document.metadata, "data": document.data})

    def written(self, document: Document) -> str:
        """Return the document as it was written, comments kept; ends with a newline.

        One that was not read from a text, that has a key twice, or that would not mean the same by itself, is dumped.
        """
        if document.marks is None:
            return self.dumped(document)
        text = document.marks.text
        if document.warnings or _TAG.search(text):
            return self.dumped(document)
        if text.endswith("\n"):
            return text
        # A block scalar at the very end of a file without a last newline would gain one.
        return self.dumped(document) if _BLOCK_SCALAR.search(text) else f"{text}\n"
