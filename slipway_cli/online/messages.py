"""The server's messages about documents and requests, as lines for people: errors first, each with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from slipway_cli.online.sources import Collection
from slipway_cli.printable import counted, printable

Message = Mapping[str, Any]
Sentence = Callable[[Message], str]

_CODE = re.compile(r"[A-Z]+\d+")
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold"}


def messages_of(body: Any) -> list[Message]:
    """The messages in an answer of the API."""
    details = body.get("details") if isinstance(body, Mapping) else None
    found = details.get("messageList") if isinstance(details, Mapping) else None
    return [item for item in found or [] if isinstance(item, Mapping)]


def sentence(message: Message) -> str:
    """A message as a line; the provisioner's words are marked as such, with the code of its check and its documents."""
    source, text = message.get("source"), message.get("message", message)
    if source in (None, "Slipway"):
        return str(text)
    code = message.get("name")
    about = [_document(item) for item in message.get("documents") or [] if isinstance(item, Mapping)]
    coded = f"{code}: " if isinstance(code, str) and _CODE.fullmatch(code) else ""
    return f"{source}: {coded}{text}" + (f" [{', '.join(about)}]" if about else "")


def _document(named: Message) -> str:
    return "/".join(str(named[key]) for key in ("schema", "name") if named.get(key))


def in_files(collections: Mapping[str, Collection]) -> Sentence:
    """Return a way to say messages in which lines of these collections are lines of the files they were made of."""

    def say(message: Message) -> str:
        name, line = message.get("collection"), message.get("line")
        sources = collections.get(name) if isinstance(name, str) else None
        if sources is None or not sources.names:
            return sentence(message)
        text = _replaced(str(message.get("text", "")), str(name), sources)
        path = message.get("path")
        inside = f"{path}: " if path and path != "$" else ""
        if not isinstance(line, int) or line < 1:
            return sentence({**message, "message": f"{name}: {inside}{text}"})
        file, there = sources.place(line)
        return sentence({**message, "message": f"{file}:{there}: {inside}{text}"})

    return say


def _replaced(text: str, name: str, sources: Collection) -> str:
    """The sentence with the lines of the collection that it speaks of as lines of files."""

    def place(match: re.Match[str]) -> str:
        file, there = sources.place(int(match["line"]))
        return f"{match['word']} {file}:{there}"

    return re.sub(rf"\b(?P<word>at|on) (?:{re.escape(name)} )?line (?P<line>[1-9]\d{{0,8}})\b", place, text)


def level_of(message: Message) -> str:
    """Error, warning or note."""
    if message.get("error", True):
        return "error"
    return "note" if message.get("level") == "Info" else "warning"


def print_messages(
    target: Console, messages: Sequence[Message], say: Sentence = sentence, most: int | None = None
) -> None:
    """Print errors, then warnings, then notes; of each kind not more than `most`, and how many are left out."""
    for level, style in _STYLES.items():
        chosen = [message for message in messages if level_of(message) == level]
        if chosen:
            target.print(Text(f"{counted(len(chosen), level)}:", style=style))
            for message in chosen[:most]:
                target.print(Text("  " + printable(say(message))), soft_wrap=True)
            if most is not None and len(chosen) > most:
                target.print(Text(f"  and {len(chosen) - most} more: -o json shows them"), soft_wrap=True)
