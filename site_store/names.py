"""Which names the tables can hold: those of documents, groups and nodes come from people, and may be anything."""

from __future__ import annotations

from collections.abc import Iterable

from site_store.errors import ValueRefused

#: Bytes (UTF-8) of the longest name of a collection, a group or a node. They are indexed, two of them together at
#: most, and PostgreSQL indexes 2,700 bytes in all. No other text has a bound.
LONGEST_NAME = 1000


def require_text(what: str, text: str) -> None:
    """Make sure that every database can hold a text.

    Raises
    ------
    ValueRefused
        It has a character that is none.
    """
    if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise ValueRefused(f"{what} {text!r} cannot be stored: it holds NUL, or half a character; change it")


def require_names(what: str, names: Iterable[str]) -> None:
    """Make sure that these names can be stored and indexed.

    Raises
    ------
    ValueRefused
        One of them cannot.
    """
    for name in names:
        require_text(what, name)
        size = len(name.encode())
        if size > LONGEST_NAME:
            raise ValueRefused(
                f"{what} {name[:40]!r}… has a name of {size} bytes, more than the {LONGEST_NAME} that can be stored: "
                "give it a shorter one"
            )
