"""What the server found in documents: its messages, errors first, each with the file and line where those are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from slipway_cli.online.client import Message, Sentence, messages_of, sentence
from slipway_cli.online.sources import Collection
from slipway_cli.output import console
from slipway_cli.printable import counted, printable


def in_files(collection: str, sources: Collection) -> Sentence:
    """Return a way to say messages in which lines of the collection are lines of the files that were sent."""

    def say(message: Message) -> str:
        line = message.get("line")
        if message.get("collection") != collection or not isinstance(line, int) or line < 1 or not sources.names:
            return sentence(message)
        name, there = sources.place(line)
        path = message.get("path")
        where = f"{name}:{there}: " + (f"{path}: " if path and path != "$" else "")
        return sentence({**message, "message": f"{where}{message.get('text', '')}"})

    return say


def show_messages(body: Any, say: Sentence = sentence) -> None:
    """Print the messages of an answer to standard error."""
    messages = messages_of(body)
    target = console(stderr=True)
    for errors, noun, style in ((True, "error", "bold red"), (False, "warning", "bold yellow")):
        chosen: Sequence[Message] = [item for item in messages if bool(item.get("error")) is errors]
        if not chosen:
            continue
        target.print(Text(f"{counted(len(chosen), noun)}:", style=style))
        for message in chosen:
            text = say({**message, "level": "Error"} if message.get("level") == "Warning" else message)
            target.print(Text("  " + printable(text.removeprefix("error: "))), soft_wrap=True)
