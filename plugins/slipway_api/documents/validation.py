"""Judging a site's documents before they are committed and before an action: everything at once, in Airship's shape."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from design_rendering.design import KeyedDesign
from design_rendering.kinds.nodes import NODE_SCHEMAS
from design_rendering.kinds.objects import design_objects
from design_rendering.kinds.provisioner_kinds import provisioner_of
from design_rendering.policies import PolicedRendering, PolicyError, police
from design_rendering.reading.documents import Document, DocumentError, RenderingError, find_document, load_documents
from design_rendering.redaction import PLACEHOLDER, Redactor, secret_values
from design_rendering.rendering import Rendering, design_text, render, secret_texts
from design_rendering.validation import duplicates, placeholders, unrendered_problems, validate_rendering
from site_engine.errors import ConnectionLookupFailed
from site_engine.extensions import installed_policies
from site_store import CommittedObjects, RevisionRecord, RevisionSecrets, SiteStore
from slipway_api.documents import provisioner_check
from slipway_api.http.airflow_access import longest_mapping
from slipway_api.http.api_errors import message_of, plain_message
from slipway_api.http.concurrency import JUDGING
from slipway_api.http.dependencies import open_store, provisioners
from strategy_lib.errors import Problem
from strategy_lib.garbage import garbage_put_off
from strategy_lib.parsing.notifications import NOTIFICATIONS_SCHEMA, Notifications, Webhook

SMALL = 64 * 1024
"""What has fewer bytes is not kept: to read it takes milliseconds."""
SECONDS = 600.0
"""Documents are kept for so long at most: they take many times the room of their text."""


class ReadOnce:
    """Reads collections, and keeps the documents of the last one that was put, until it is committed or for a while.

    To read the text of a large site is a third of all that its commit does. Each process keeps one collection.
    """

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


MOST_MESSAGES = 1000
_LEVELS = ("Error", "Warning", "Info")


@dataclass(frozen=True, slots=True)
class Validated:
    """What is known of a site's documents.

    Attributes
    ----------
    messages : what was found, in Airship's shape: errors first, then warnings. They name no secret.
    errors : how many errors were found; `messages` lists no more than a thousand things.
    documents : the documents as written, each with its collection.
    text, design, secrets : the text of the rendered documents, what a deployment takes from them, and what of them
        must not be seen; None where there is none. They are as the policies leave them.
    objects : what the design consists of, and what policies did to it; None where it cannot be read.
    """

    messages: tuple[Mapping[str, Any], ...]
    errors: int
    documents: tuple[tuple[str, Document], ...]
    text: str | None
    design: KeyedDesign | None
    secrets: RevisionSecrets | None
    objects: CommittedObjects | None = None


def validate(store: SiteStore, site: str, collections: Mapping[str, str]) -> Validated:
    """Judge the documents that a commit would make a revision of.

    Parameters
    ----------
    collections : the text of each collection.
    """
    with JUDGING.slot(), garbage_put_off():
        return _validate(store, site, collections, None)


def validation_of_revision(site: str, number: int) -> Validated:
    """Judge a revision as it would be judged now: the rules, the provisioner and its knowledge may have changed.

    Raises `RevisionNotFound`: the site has no such revision.
    """
    store = open_store()
    revision = store.revisions.get(site, number)
    collections = {record.name: record.text for record in store.sites.collections(site, number)}
    with JUDGING.slot(), garbage_put_off():
        return _validate(store, site, collections, revision if revision.text is not None else None)


def _validate(
    store: SiteStore, site: str, collections: Mapping[str, str], committed: RevisionRecord | None
) -> Validated:
    problems: list[Problem] = []
    documents: list[Document] = []
    key = store.secret_texts.digest_key()
    for name, written in collections.items():
        try:
            documents += READ_ONCE.read(name, written)
        except DocumentError as error:
            problems += error.problems
    problems += duplicates(documents)
    policed: PolicedRendering | None = None
    text: str | None = None
    design: KeyedDesign | None = None
    secrets: RevisionSecrets | None = None
    objects: CommittedObjects | None = None
    said: list[dict[str, Any]] = []
    if not problems:
        try:
            installed = installed_policies()
            judged = store.objects.judged(site, installed.digest)
            policed = police(render(documents), installed.policies, judged, key)
        except (RenderingError, PolicyError) as error:
            problems += error.problems
    if policed is None:
        problems += unrendered_problems(documents)
    else:
        rendering = policed.rendering
        found_secrets = cache(partial(secret_texts, documents, rendering))
        redactor = cache(lambda: Redactor(found_secrets()))
        text = design_text(rendering)
        nodes = [one.document.name for one in rendering.documents if one.document.schema in NODE_SCHEMAS]
        answer = provisioner_check.ask(
            store, site, text, nodes, lambda said: redactor().redact(said), committed, _kind_of(rendering)
        )
        kind = provisioner_check.provisioner_kind(site)
        found = validate_rendering(rendering, most_groups=longest_mapping(), provisioner=kind, installation=os.environ)
        secrets = RevisionSecrets(found_secrets(), tuple(map(str, found.exposed)))
        problems += found.problems
        design = None if found.design is None else found.design.keyed(key)
        if design is not None:
            rendered = [one.document for one in rendering.documents]
            problems += unknown_connections(rendered, design.notifications)
            # Before the provisioner's answer is waited for: it reads the design meanwhile.
            found_objects = design_objects(rendered, design.nodes, key)
            objects = CommittedObjects(found_objects, installed.digest, policed.by_policy, policed.judged)
        said = names_said_once(answer(), found.problems)
    messages = [*map(message_of, dict.fromkeys(problems)), *said]
    texts = secret_values(documents) if secrets is None else secrets.texts
    return Validated(
        messages=tuple(_without_secrets(_in_order(messages), texts)),
        errors=sum(1 for message in messages if message["error"]),
        documents=tuple((document.source, document) for document in documents),
        text=text,
        design=design,
        secrets=secrets,
        objects=objects,
    )


def names_said_once(said: Sequence[dict[str, Any]], problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Return what the provisioner's side says, without what a document with a wrong name has said with its line."""
    told = any(problem.path == "$.metadata.name" and problem.level == "error" for problem in problems)
    return [message for message in said if not told or message.get("name") != provisioner_check.NODE_NAMES]


def unknown_connections(documents: Sequence[Document], notifications: Notifications) -> list[Problem]:
    """Return a warning for each target of notifications whose connection certainly does not exist."""
    document = find_document(documents, NOTIFICATIONS_SCHEMA)
    found = []
    for place, target in enumerate(notifications.targets):
        way = "webhook" if isinstance(target.way, Webhook) else "notifier"
        if document is not None and target.way.connection and _is_missing(target.way.connection):
            message = f"there is no Airflow connection {target.way.connection!r}: create it, or nothing is sent"
            found.append(document.problem(f"$.data.targets[{place}].{way}.connection", message))
    return [replace(problem, level="warning") for problem in found]


def _is_missing(connection: str) -> bool:
    with suppress(ConnectionLookupFailed):
        return provisioners().find(connection) is None
    return False


def _kind_of(rendering: Rendering) -> str | None:
    try:
        return provisioner_of([one.document for one in rendering.documents])
    except DocumentError:
        return None  # that two documents are about the site is said where they are read


def _in_order(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return errors before warnings, and not more than can be read."""
    ordered = sorted(messages, key=lambda message: _LEVELS.index(message["level"]))
    left = ordered[MOST_MESSAGES:]
    if not left:
        return ordered
    more = f"and {len(left)} more, of which {sum(1 for message in left if message['error'])} are errors"
    return [*ordered[:MOST_MESSAGES], plain_message(more, "Info")]


def _without_secrets(messages: list[dict[str, Any]], secrets: Iterable[str]) -> list[dict[str, Any]]:
    """Return the messages without what is secret in the documents: a sentence may repeat the value that it is about."""
    redactor = Redactor(secrets)
    for message in messages:
        for key in ("message", "text"):
            if isinstance(message.get(key), str):
                message[key] = redactor.redact(message[key])
    return messages
