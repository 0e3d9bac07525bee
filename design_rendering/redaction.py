"""What in a design is secret: showing a design without it, and taking it out of texts, however many there are."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from design_rendering.reading.documents import Document
from design_rendering.reading.nested_data import CONTAINERS, MISSING, CopyOnWrite, found_at, inside_out, items_of
from design_rendering.reading.yaml_writer import DocumentWriter
from design_rendering.slipway_kinds import USER_DATA_SCHEMA
from strategy_lib.errors import Step, split

HIDDEN = "***"
SHORTEST_SECRET = 5
"""Characters. Shorter secrets would hide ordinary words."""
# A provisioner cuts its messages: of a secret at the end of one, so much at least is recognised.
_RECOGNISED = 8
_URL_LOGIN = re.compile(r"://([^/\s:@]{0,200}):([^/\s@]{1,200})@")


def url_logins(text: str) -> Iterator[tuple[str, str]]:
    """Give user and password of each address in a text, as they stand there, and decoded."""
    if "://" in text:
        for user, password in _URL_LOGIN.findall(text):
            yield user, password
            yield unquote(user), unquote(password)


class Redactor:
    """Hides a fixed set of secrets in any number of texts.

    A text is searched once, whatever the number of secrets: only where the first characters of a secret stand are the
    secrets themselves looked at, by bisection.

    Parameters
    ----------
    secrets : the texts to hide, with passwords of addresses in them; those shorter than `shortest` characters are not
        hidden.
    """

    def __init__(self, secrets: Iterable[str], replacement: str = HIDDEN, shortest: int = SHORTEST_SECRET) -> None:
        self._replacement = replacement
        texts = set(secrets)
        texts |= {password for text in texts for _, password in url_logins(text)}
        self._sorted = sorted(secret for secret in texts if len(secret) >= shortest)
        self._head = shortest
        self._heads = frozenset(secret[:shortest] for secret in self._sorted)
        self._longest = max(map(len, self._sorted), default=0)
        self._shorter = _prefixes(self._sorted)

    def __bool__(self) -> bool:
        """Whether there is anything to hide."""
        return bool(self._sorted)

    def redact(self, text: str) -> str:
        """Return a text without the secrets, nor the beginning of one (8 characters or more) where the text was cut."""
        hidden = list(self._spans(text))
        if not hidden:
            return text
        parts, position = [], 0
        for start, end in hidden:
            parts += [text[position:start], self._replacement]
            position = end
        return "".join([*parts, text[position:]])

    def redact_value(self, value: Any) -> Any:
        """Return a value with every text in it redacted: texts, mappings, lists and tuples; others stay as they are."""
        if not self._sorted:
            return value
        match value:
            case str():
                return self.redact(value)
            case Mapping():
                return {self.redact_value(key): self.redact_value(item) for key, item in value.items()}
            case list():
                return [self.redact_value(item) for item in value]
            case tuple() if type(value) is tuple:
                return tuple(self.redact_value(item) for item in value)
            case _:
                return value

    def redact_exception(self, error: BaseException) -> None:
        """Redact, in place, the texts of an exception and of all that it was raised from; a traceback shows them."""
        seen: set[int] = set()
        waiting: list[BaseException | None] = [error]
        while waiting:
            current = waiting.pop()
            if current is None or id(current) in seen:
                continue
            seen.add(id(current))
            current.args = self.redact_value(current.args)
            notes = getattr(current, "__notes__", None)
            if notes:
                current.__notes__ = self.redact_value(list(notes))
            waiting += [current.__cause__, current.__context__]
            if isinstance(current, BaseExceptionGroup):
                waiting += current.exceptions

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where secrets stand, in order; what overlaps or touches is one."""
        head, heads = self._head, self._heads
        start = end = -1
        for place in [at for at in range(len(text) - head + 1) if text[at : at + head] in heads]:
            reach = self._end_of_secret(text, place)
            if reach <= end or reach == place:
                continue
            if place > end:
                if end > start:
                    yield start, end
                start = place
            end = reach
        if end > start:
            yield start, end

    def _end_of_secret(self, text: str, place: int) -> int:
        """Return where the longest secret that begins at a place ends, a cut one with the text; the place if none."""
        there = text[place : place + self._longest]
        last = bisect_right(self._sorted, there) - 1
        # A secret that `there` begins with sorts before it, and begins everything that sorts between the two.
        while last >= 0 and not there.startswith(self._sorted[last]):
            last = self._shorter[last]
        whole = place + len(self._sorted[last]) if last >= 0 else place
        if place + len(there) == len(text) and len(there) >= _RECOGNISED and whole < len(text):
            following = bisect_left(self._sorted, there)
            if following < len(self._sorted) and self._sorted[following].startswith(there):
                return len(text)
        return whole


def _prefixes(ordered: list[str]) -> list[int]:
    """Return, for each of some sorted texts, the position of the longest other one that it begins with; -1 for none."""
    found: list[int] = []
    for position, text in enumerate(ordered):
        candidate = position - 1
        while candidate >= 0 and not text.startswith(ordered[candidate]):
            candidate = found[candidate]
        found.append(candidate)
    return found


PLACEHOLDER = "[redacted]"

# Kinds whose whole data is one secret, whatever their storage policy says.
_SECRET_KINDS = frozenset(
    {
        "deckhand/CertificateAuthorityKey/v1",
        "deckhand/CertificateKey/v1",
        "deckhand/Passphrase/v1",
        "deckhand/PrivateKey/v1",
        USER_DATA_SCHEMA,
    }
)
# The last word of a key says what it holds: `secret_name` and `token_ttl` are no secrets. How a password is kept may
# stand behind it.
_SECRET_KEY = re.compile(
    r"(?:.*_)?(?:pass|pwd|(?:root)?pw|psk|community(?:_string)?|credentials?|secrets?|tokens?|crypt|crypt_\w+|\w+_crypt"
    r"|(?:private|secret|api|auth|encryption|fernet|tls|ssl|cert|certificate|server|client|ca|signing|master)_?keys?"
    r")\d*\Z"
    r"|.*(?:password|passwd|passphrase)s?_?\d*(?:_(?:hash|hashed|crypted|encrypted))?\Z"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[-. ]")
# Values that give themselves away: a private key, and a password in an address.
_SECRET_TEXT = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----|://[^/\s:@]{0,200}:[^/\s@]{1,200}@")
# What may stand between two documents besides comments: the end of one, directives, the beginning of another.
_MARKER = re.compile(r"^(?:---|\.\.\.)(?=\s|\Z)|^%(?:YAML|TAG)(?:[ \t]+[^\s#]\S*)+", re.MULTILINE)
_BEGIN = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
# Shorter values would mask ordinary words of a log.
_SHORTEST_LINE = 8
# How much of a key is looked at, from its end.
_KEY = 100
_ABSTRACT = re.compile(r"\babstract[\"']?\s*:(?!\s*false\b)")


def is_secret(document: Document) -> bool:
    """Return whether all data of a document is secret: it is stored encrypted, or it is a key or passphrase by kind."""
    return document.metadata.get("storagePolicy") == "encrypted" or document.schema in _SECRET_KINDS


@lru_cache(maxsize=20_000)
def is_secret_key(key: str) -> bool:
    """Return whether what stands under a key is secret: `password`, `ipmi_credential`, `privateKey`."""
    return _SECRET_KEY.match(_SEPARATORS.sub("_", _CAMEL.sub("_", key[-_KEY:])).lower()) is not None


def is_secret_at(steps: Sequence[Step], value: Any) -> bool:
    """Return whether a value in a document is secret by a key on the way to it, or by itself."""
    return any(isinstance(step, str) and is_secret_key(step[-_KEY:]) for step in steps) or (
        isinstance(value, str) and _SECRET_TEXT.search(value) is not None
    )


def redacted(document: Document, secret_paths: Iterable[str] = ()) -> Document:
    """Return the document with its secrets replaced by `PLACEHOLDER`; the same document when it holds none.

    Parameters
    ----------
    secret_paths : JSON paths of further secrets (`RenderedDocument.secret_paths`).
    """
    if is_secret(document):
        return document if document.data == PLACEHOLDER else replace(document, data=PLACEHOLDER)
    data = _without(document.data, secret_paths)
    return document if data is document.data else replace(document, data=data)


def redacted_text(text: str, documents: Sequence[Document]) -> str:
    """Return a text of YAML without its secrets.

    Documents that hold no secret stay as they are written, comments included; the others are written anew. So are those
    in which a key stands twice, for nobody looked at the first. Comments around a document that is secret as a whole,
    which may be about it, are left out.
    """
    text = text.removeprefix("\ufeff")
    writer = DocumentWriter()
    parts: list[str] = []
    position = 0
    # Whether what is at `position` is behind a document that is secret as a whole.
    behind = False
    for document in documents:
        if document.marks is None:
            raise ValueError(f"{document.label} was not read from a text, so that its place in it is not known")
        start, end = document.marks.span
        shown = redacted(document)
        whole = is_secret(document)
        before = _between(text[position:start], behind=behind, ahead=whole)
        anew = whole or shown is not document or bool(document.warnings)
        _add(parts, before.rstrip(" \t") if anew else before, on_new_line=whole or behind)
        _add(parts, writer.dumped(shown) if anew else text[start:end], on_new_line=anew)
        position = end
        behind = whole
    _add(parts, _between(text[position:], behind=behind, ahead=False), on_new_line=behind)
    return "".join(parts)


def _add(parts: list[str], part: str, *, on_new_line: bool) -> None:
    if part and on_new_line and parts and not parts[-1].endswith("\n"):
        parts.append("\n")
    if part:
        parts.append(part)


def _between(text: str, *, behind: bool, ahead: bool) -> str:
    """Return what stands between two documents without the comments that may be about a secret one.

    Parameters
    ----------
    behind : what stands before the text is secret: its comments go as far as the next `---`.
    ahead : what stands after it is secret: all its comments go.
    """
    if ahead:
        return _markers(text)
    if not behind:
        return text
    begin = _BEGIN.search(text)
    return _markers(text) if begin is None else _markers(text[: begin.start()]) + text[begin.start() :]


def _markers(text: str) -> str:
    """Return the lines between documents that are no comments, each by itself."""
    return "".join(f"{match[0]}\n" for match in _MARKER.finditer(text))


def secret_values(documents: Iterable[Document], further: Iterable[str] = ()) -> frozenset[str]:
    """Return the texts that must not be seen in a log: every secret, and every longer line of it.

    Parameters
    ----------
    further : secrets that the documents do not show to be secret (`Rendering.secret_parts`).
    """
    secrets = set(further)
    # What rendered documents share with others and with each other is looked at once; all of them are kept meanwhile.
    kept = list(documents)
    done: set[int] = set()
    for document in kept:
        secrets.update(_leaves(document.data) if is_secret(document) else _secret_leaves(document.data, done))
    values = set(secrets)
    for secret in secrets:
        values.update(line for line in map(str.strip, secret.splitlines()) if len(line) >= _SHORTEST_LINE)
    return frozenset(values - {"", PLACEHOLDER})


def holds_secret(documents: Iterable[Document]) -> bool:
    """Return whether any of these documents holds a secret, however short it is."""
    kept = list(documents)
    done: set[int] = set()
    return any(is_secret(document) for document in kept) or any(
        _is_secret_item(key, below)
        for document in kept
        for value in ([document.data], *inside_out(document.data, done))
        for key, below in items_of(value)
    )


def _without(data: Any, secret_paths: Iterable[str]) -> Any:
    """Return data without secrets; the very same object when there are none."""
    copy = CopyOnWrite(data)
    for path in secret_paths:
        steps = split(path)[1:]
        found = found_at(copy.data, steps)
        if found is not MISSING and _counts(found):
            copy.put(steps, PLACEHOLDER)
    return _cleaned(copy.data)


def _cleaned(root: Any) -> Any:
    """Return data without what shows by its key or its text that it is secret. Parts that are shared stay shared."""
    done: dict[int, Any] = {}
    for value in inside_out(root):
        items = items_of(value)
        changed = {key: shown for key, below in items if (shown := _shown(key, below, done)) is not below}
        if changed:
            copy: Any = dict(value) if isinstance(value, dict) else list(value)
            for key, shown in changed.items():
                copy[key] = shown
            done[id(value)] = copy
        else:
            done[id(value)] = value
    return done[id(root)] if isinstance(root, CONTAINERS) else _shown(0, root, done)


def _shown(key: Step, value: Any, done: Mapping[int, Any]) -> Any:
    if _is_secret_item(key, value):
        return PLACEHOLDER
    return done[id(value)] if isinstance(value, CONTAINERS) else value


def _is_secret_item(key: Step, value: Any) -> bool:
    # Few are: whether there is anything to hide is asked last.
    if isinstance(key, str) and is_secret_key(key[-_KEY:]):
        return _counts(value)
    return isinstance(value, str) and _SECRET_TEXT.search(value) is not None and _counts(value)


def _counts(value: Any) -> bool:
    """Return whether there is anything to hide: a switch or an empty value is no secret."""
    return value is not None and value is not True and value is not False and value not in ("", [], {}, PLACEHOLDER)


def _secret_leaves(root: Any, done: set[int]) -> Iterator[str]:
    for value in inside_out(root, done):
        for key, below in items_of(value):
            if _is_secret_item(key, below):
                yield from _leaves(below)
    if isinstance(root, str) and _is_secret_item(0, root):
        yield root


def _leaves(root: Any) -> Iterator[str]:
    """Yield every text and number at or below a value."""
    for value in [[root], *inside_out(root)]:
        for _, below in items_of(value):
            if isinstance(below, str):
                yield below
            elif isinstance(below, int | float) and not isinstance(below, bool):
                number = str(below)
                if len(number) >= SHORTEST_SECRET:
                    yield number


def may_hide_secrets(texts: Iterable[str]) -> bool:
    """Return whether there may be secrets that `secret_values` does not find in what the texts are rendered to.

    Those are parts that a pattern takes of a secret, and what comes from a secret document that is itself not part of
    the rendered design. This only looks for the words, so that most texts need not be read.
    """
    return any("pattern" in text or "replacement" in text or _has_abstract_secret(text) for text in texts)


def _has_abstract_secret(text: str) -> bool:
    return any(
        any(word in document for word in ("encrypted", "deckhand/", USER_DATA_SCHEMA)) and _ABSTRACT.search(document)
        for document in _BEGIN.split(text)
    )
