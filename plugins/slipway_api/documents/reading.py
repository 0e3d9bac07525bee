"""Reading a collection of documents, and keeping the last one: its commit need not read the same text once more.

To read the text of a large site is a third of all that its commit does. Each process keeps one collection: the last
that it was sent, until that is committed or a while has passed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

from design_rendering.reading.documents import Document, DocumentError, load_documents
from design_rendering.redaction import PLACEHOLDER
from design_rendering.validation import duplicates, placeholders

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
        problems += [problem for document in documents for problem in placeholders(document)]
    if problems:
        raise DocumentError(problems)
    return documents
