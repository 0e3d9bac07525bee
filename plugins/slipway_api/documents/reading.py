"""Reading a collection of documents, and keeping the last one: its commit need not read the same text once more.

To read the text of a large site is a third of all that its commit does. Each process keeps one collection: the last
that it was sent, until that is committed or a while has passed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from design_rendering.documents import Document, DocumentError, load_documents
from design_rendering.secrets import PLACEHOLDER
from strategy_lib.errors import Problem
from strategy_lib.parsing.json_path import Step, path_of

SMALL = 64 * 1024
"""What has fewer bytes is not kept: to read it takes milliseconds."""
SECONDS = 600.0
"""Documents are kept for so long at most: they take many times the room of their text."""


class ReadOnce:
    """Reads collections, and keeps the documents of the last one that was put."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._key = ""
        self._documents: Sequence[Document] = ()
        self._timer: threading.Timer | None = None

    def put(self, name: str, text: bytes) -> list[Document]:
        """Read a collection that is about to be put into a buffer, and keep its documents.

        Raises `DocumentError` as `read_collection` does; nothing is kept then.
        """
        # First: two large collections at once are not needed.
        self.forget()
        documents = read_collection(name, text)
        if len(text) >= SMALL:
            key = _key(name, text)
            timer = threading.Timer(self._seconds, self._forget, [key])
            timer.daemon = True
            with self._lock:
                self._stop_timer()
                self._key, self._documents, self._timer = key, documents, timer
            timer.start()
        return documents

    def read(self, name: str, text: str) -> list[Document]:
        """Return the documents of a collection, read now unless they are kept. They are not to be changed.

        Raises `DocumentError` as `read_collection` does.
        """
        written = text.encode(errors="surrogatepass")
        if len(written) >= SMALL:
            key = _key(name, written)
            with self._lock:
                if key == self._key:
                    return list(self._documents)
        return read_collection(name, text)

    def forget(self) -> None:
        """Keep nothing any more."""
        self._forget(self._key)

    def _forget(self, key: str) -> None:
        with self._lock:
            if key == self._key:
                self._stop_timer()
                self._key, self._documents = "", ()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _key(name: str, text: bytes) -> str:
    return f"{name}:{hashlib.sha256(text).hexdigest()}"


READ_ONCE = ReadOnce()
"""That of this process."""


def read_collection(name: str, text: str | bytes) -> list[Document]:
    """Return the documents of a collection; their source is its name, so that lines count in its text.

    Raises `DocumentError` with all problems: what is no YAML, or no document; a document that stands there twice; a
    value that stands for a secret which was left out when the collection was read.
    """
    documents = load_documents(text, name)
    problems = [*duplicates(documents)]
    if PLACEHOLDER in (text if isinstance(text, str) else text.decode()):
        problems += [problem for document in documents for problem in _placeholders(document)]
    if problems:
        raise DocumentError(problems)
    return documents


def duplicates(documents: Sequence[Document]) -> Iterator[Problem]:
    """Yield a problem for each document whose schema, layer and name another has before it."""
    first: dict[tuple[str, str | None, str], Document] = {}
    for document in documents:
        other = first.setdefault((document.schema, document.layer, document.name), document)
        if other is not document:
            layer = f" of layer {document.layer!r}" if document.layer else ""
            where = f"{other.source} line {other.line}" if other.source != document.source else f"line {other.line}"
            yield document.problem(
                "$", f"there is already a {document.schema} named {document.name!r}{layer} at {where}; keep one of them"
            )


def _placeholders(document: Document) -> Iterator[Problem]:
    message = (
        f"{PLACEHOLDER} stands for a secret that was left out when the document was read; "
        "write the secret itself, or read the collection with cleartext-secrets=true"
    )
    left: list[tuple[Any, tuple[Step, ...]]] = [(document.data, ("data",))]
    seen: set[int] = set()
    while left:
        value, steps = left.pop()
        if isinstance(value, str):
            if value == PLACEHOLDER:
                yield document.problem(path_of(steps), message)
        # Aliases share their values: each is looked at once.
        elif isinstance(value, Mapping | list) and id(value) not in seen:
            seen.add(id(value))
            below = value.items() if isinstance(value, Mapping) else enumerate(value)
            left.extend((item, (*steps, step)) for step, item in below)
