"""A client of Slipway's REST API with the user's token; what goes wrong is told in words, with all messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

import click
import requests
from rich.text import Text

from slipway_cli.api_session import ApiError, ApiRefused, ApiSession
from slipway_cli.errors import SlipwayCliError
from slipway_cli.online.installation import Installation
from slipway_cli.output import console
from slipway_cli.printable import counted, printable

API = "/slipway/api/v1.0"
_TIMEOUT = 300.0
"""Seconds for one answer: the commit of a large site asks the provisioner to read it."""

Message = Mapping[str, Any]
Sentence = Callable[[Message], str]


class Failed(SlipwayCliError, click.ClickException):
    """The server did not do what was asked; the message says why, and `messages` all that is wrong."""

    exit_code = 1

    def __init__(self, text: str, messages: Sequence[str] = ()) -> None:
        self.messages = tuple(messages)
        super().__init__(text)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print all of it to standard error."""
        target = console(stderr=True, file=file)
        if self.messages:
            target.print(Text(f"{counted(len(self.messages), 'message')}:", style="bold red"))
            for message in self.messages:
                target.print(Text("  " + printable(message)), soft_wrap=True)
        target.print(Text(f"Error: {printable(self.message)}"), soft_wrap=True)


def sentence(message: Message) -> str:
    """A message of the server as a line; warnings and the provisioner's words are marked as such."""
    marks = [str(message.get("level", "Error")).lower()] if not message.get("error", True) else []
    if message.get("source") not in (None, "Slipway"):
        marks.append(str(message["source"]))
    return f"{': '.join([*marks, ''])}{message.get('message', message)}"


def messages_of(body: Any) -> list[Message]:
    """The messages in an answer of the API."""
    details = body.get("details") if isinstance(body, Mapping) else None
    found = details.get("messageList") if isinstance(details, Mapping) else None
    return [item for item in found or [] if isinstance(item, Mapping)]


@contextmanager
def told(where: Installation, say: Sentence = sentence) -> Iterator[None]:
    """Turn what an API says into what a user can act on."""
    try:
        yield
    except ApiRefused as error:
        if error.status == 401:
            raise Failed(f"not logged in at {where.url}, or no longer: run `slipway login`") from error
        body = error.detail
        text = str(body.get("message")) if isinstance(body, Mapping) and body.get("message") else str(error)
        lines = [say(message) for message in messages_of(body)]
        if lines == [text]:
            lines = []
        again = " Try again later." if isinstance(body, Mapping) and body.get("retry") and error.status >= 500 else ""
        raise Failed(f"{text}{again}", lines) from error
    except ApiError as error:
        raise Failed(f"{error}. Is it the right server? `slipway profile list` shows which are known") from error


class Client:
    """Requests to the API of one server, about one site."""

    def __init__(self, where: Installation, verbosity: int = 1) -> None:
        if where.token is None:
            raise Failed(f"not logged in at {where.url}: run `slipway login`")
        self.where = where
        self.session = ApiSession.with_token(where.url, where.user or "", where.token, _TIMEOUT)
        self._verbosity = verbosity

    def get(self, path: str, **query: Any) -> requests.Response:
        """Read something."""
        return self.send("GET", path, query)

    def send(
        self, method: str, path: str, query: Mapping[str, Any], say: Sentence = sentence, **arguments: Any
    ) -> requests.Response:
        """Send a request; `query` without what is None. The site and the verbosity are added.

        Raises
        ------
        Failed
        """
        params: dict[str, Any] = {"site": self.where.site, "verbosity": self._verbosity}
        params |= {name: value for name, value in query.items() if value is not None}
        params = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
        with told(self.where, say):
            return self.session.request(f"{method} {path}", method, API + path, params=params, **arguments)
