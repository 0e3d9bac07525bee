"""Redaction of a design's secrets: which ones a revision has, and taking them out of all that a task's process writes.

Airflow masks in the process that writes a task's log, and for each new secret compiles one expression of all of them
anew, in both processes: with thousands of secrets it does not end. Here texts are redacted before they leave the task.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import sys
import threading
from collections.abc import Iterable
from functools import cache
from typing import Any, TextIO

import structlog

from design_rendering.reading.documents import Document, DocumentError, RenderingError, load_documents
from design_rendering.redaction import HIDDEN, Redactor, may_hide_secrets, secret_values
from design_rendering.rendering import render, secret_texts
from design_rendering.validation import exposed_secrets
from provisioner_client.redacting import Redact, redacted_or_not_shown
from site_engine.designs import read_revision
from site_engine.log_messages import TaskLog
from site_store import ActionRecord, CollectionRecord, RevisionNotFound, RevisionRecord, SiteStore


def secrets_of(store: SiteStore, revision: RevisionRecord, documents: Iterable[Document]) -> frozenset[str]:
    """Return what of a revision must not be seen in a text: as it was stored with it, else found by rendering it again.

    Parameters
    ----------
    documents : the rendered documents of the revision.
    """
    known = store.revisions.secrets(revision.site, revision.number)
    if known is not None:
        return known.texts
    found = secret_values(documents)
    collections = store.sites.collections(revision.site, revision.number)
    if may_hide_secrets(record.text for record in collections):
        # Nothing that is wrong by today's rules keeps an action from using what was rendered at the commit.
        with contextlib.suppress(DocumentError, RenderingError):
            written = _as_written(collections)
            found |= secret_values(written)
            found |= secret_texts(written, render(written))
    return found


def redact_for_action(store: SiteStore, action: ActionRecord) -> Redact:
    """Return what takes the secrets of an action's revision out of a text, and what opens its design.

    They are read when there is a text.
    """
    token = cache(lambda: store.secret_texts.token_of(store.revisions.design_handle(action.site, action.revision)))
    redactor = cache(lambda: redactor_of(store, action))
    return lambda text: redactor().redact(text.replace(token(), HIDDEN))


def redact_for_site(store: SiteStore, site: str) -> Redact:
    """Return what takes the secrets of a site's newest revision out of a text; they are read when there is a text."""

    @cache
    def redactor() -> Redactor:
        try:
            revision = store.revisions.get(site, None)
        except RevisionNotFound:
            return Redactor(())
        known = store.revisions.secrets(site, revision.number)
        if known is not None:
            return Redactor(known.texts)
        documents = () if revision.text is None else load_documents(revision.text, site)
        return Redactor(secrets_of(store, revision, documents))

    return lambda text: redactor().redact(text)


def redactor_of(store: SiteStore, action: ActionRecord) -> Redactor:
    """Return what hides the secrets of an action's revision; may be slow where they were not stored with it.

    Raises `StepError` or `site_store.RevisionNotFound`: there is no rendered design.
    """
    known = None if action.revision is None else store.revisions.secrets(action.site, action.revision)
    if known is not None:
        return Redactor(known.texts)
    return Redactor(secrets_of(store, *read_revision(store, action.site, action.revision)))


class RedactedLog:
    """A log from which secrets are taken, where one process logs for many actions.

    Parameters
    ----------
    log : takes the lines.
    redact : takes secrets out of a text; where it fails, the line is not shown.
    """

    def __init__(self, log: TaskLog, redact: Redact) -> None:
        self._log = log
        self._redact = redact

    def info(self, event: str, /, *args: Any) -> None:
        """Tell what happens."""
        self._log.info("%s", self._hide(event, args))

    def warning(self, event: str, /, *args: Any) -> None:
        """Tell what deserves a second look."""
        self._log.warning("%s", self._hide(event, args))

    def error(self, event: str, /, *args: Any) -> None:
        """Tell what went wrong."""
        self._log.error("%s", self._hide(event, args))

    def _hide(self, event: str, args: tuple[Any, ...]) -> str:
        return redacted_or_not_shown(self._redact, event % args if args else event)


def exposed_in(store: SiteStore, revision: RevisionRecord) -> list[str]:
    """Return a problem for each secret in groups and settings: a commit can be forced in spite of it, an action not.

    Everybody who may look at an action sees these.
    """
    known = store.revisions.secrets(revision.site, revision.number)
    if known is not None:
        return list(known.exposed)
    collections = store.sites.collections(revision.site, revision.number)
    # Secrets get there by a substitution, or with a document that is secret as a whole.
    if any(word in record.text for record in collections for word in ("substitutions", "encrypted")):
        with contextlib.suppress(DocumentError, RenderingError):
            return [str(problem) for problem in exposed_secrets(render(_as_written(collections)))]
    return []


def _as_written(collections: Iterable[CollectionRecord]) -> list[Document]:
    return [document for record in collections for document in load_documents(record.text, record.name)]


# What Airflow's supervisor needs to take a line of the log in.
_KEPT = frozenset({"level", "timestamp"})
# Characters after which a line that does not end is given out all the same.
_LONGEST_LINE = 1_000_000

_redactor = Redactor(())


def redact_output(redactor: Redactor) -> None:
    """Redact all that this process says from here on; a later call replaces an earlier one's secrets."""
    global _redactor
    _redactor = redactor
    if redactor:
        _redact_structlog()
        _redact_standard_logging()
        _redact_streams()


def _redact_structlog() -> None:
    # Loggers that were used before hold this very list.
    processors: list[Any] = structlog.get_config()["processors"]
    if _redact_event not in processors:
        processors.insert(len(processors) - 1, _redact_event)


def _redact_event(_logger: Any, _method: str, event: Any) -> Any:
    """Redact an event right before it is rendered (a processor of structlog)."""
    error = event.get("exc_info")
    if isinstance(error, tuple) and len(error) == 3:
        error = error[1]
    if error is True:
        error = sys.exc_info()[1]
    if isinstance(error, BaseException):
        _redactor.redact_exception(error)
    return {key: value if key in _KEPT else _redactor.redact_value(value) for key, value in event.items()}


def _redact_standard_logging() -> None:
    """Redact records when they are made, whatever handles them."""
    made_by = logging.getLogRecordFactory()
    if isinstance(made_by, _RecordFactory):
        return
    logging.setLogRecordFactory(_RecordFactory(made_by))


class _RecordFactory:
    def __init__(self, factory: Any) -> None:
        self._factory = factory

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record: logging.LogRecord = self._factory(*args, **kwargs)
        try:
            said = record.getMessage()
        except (TypeError, ValueError, KeyError):
            # Logging itself tells, on the standard error, what is wrong with it.
            return record
        redacted = _redactor.redact(said)
        if redacted != said:
            record.msg, record.args = redacted, ()
        if record.exc_info and record.exc_info[1] is not None:
            _redactor.redact_exception(record.exc_info[1])
        if record.stack_info:
            record.stack_info = _redactor.redact(record.stack_info)
        return record


def _redact_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, RedactedStream):
            redacted = RedactedStream(stream)
            setattr(sys, name, redacted)
            atexit.register(redacted.finish)


class RedactedStream:
    """A text stream that gives out whole lines, redacted. A secret of several lines is known line by line.

    Parameters
    ----------
    stream : takes the lines; it also has all that this class does not.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._waiting = ""
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Take a text, and give out the lines that are complete."""
        with self._lock:
            self._waiting += text
            end = self._waiting.rfind("\n") + 1
            if not end and len(self._waiting) > _LONGEST_LINE:
                end = len(self._waiting)
            lines, self._waiting = self._waiting[:end], self._waiting[end:]
            for line in lines.splitlines(keepends=True):
                body = line.rstrip("\r\n")
                self._stream.write(_redactor.redact(body) + line[len(body) :])
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def finish(self) -> None:
        """Give out a last line without an end."""
        with self._lock:
            waiting, self._waiting = self._waiting, ""
            try:
                self._stream.write(_redactor.redact(waiting))
                self._stream.flush()
            except (ValueError, OSError):
                # It was closed before.
                return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
