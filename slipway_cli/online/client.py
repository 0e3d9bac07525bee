"""A client of Slipway's REST API with the user's token; what goes wrong is told in words, with all messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

import click
import requests
from rich.text import Text

from api_client.session import ApiError, ApiRefused, ApiSession, ApiUnreachable
from api_client.slipway import SlipwayClient
from slipway_cli.errors import SlipwayCliError
from slipway_cli.online.messages import Message, Sentence, messages_of, print_messages, sentence
from slipway_cli.online.server_config import Installation
from slipway_cli.output import console
from slipway_cli.printable import printable

READING = 60.0
"""Seconds for an answer that is read from the store, or by one question to Airflow or to the provisioner."""

REQUEST_ID = "X-Shipyard-Req"
"""The header that every answer of Slipway's has."""

Headers = Mapping[str, str]


def plainly(_headers: Headers) -> Sentence:
    """Say messages as the server does."""
    return sentence


class Failed(SlipwayCliError, click.ClickException):
    """The server did not do what was asked.

    Attributes
    ----------
    messages : all that is wrong, as the server says it.
    status : the HTTP status, None where there was no answer.
    body : the answer, for programs; None where there was none.
    """

    exit_code = 1

    def __init__(
        self,
        text: str,
        messages: Sequence[Message] = (),
        say: Sentence = sentence,
        status: int | None = None,
        body: Any = None,
    ) -> None:
        self.messages = tuple(messages)
        self.say = say
        self.status = status
        self.body = body
        super().__init__(text)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print all of it to standard error."""
        target = console(stderr=True, file=file)
        print_messages(target, self.messages, self.say)
        target.print(Text(f"Error: {printable(self.message)}"), soft_wrap=True)


@contextmanager
def told(where: Installation, say_of: Callable[[Headers], Sentence] = plainly) -> Iterator[None]:
    """Turn what an API says into what a user can act on; `say_of` gets the headers of the refusal."""
    try:
        yield
    except ApiRefused as error:
        raise _refused(where, error, say_of) from error
    except ApiUnreachable as error:
        raise Failed(f"{error}. {where.advice}") from error
    except ApiError as error:
        raise Failed(str(error)) from error


def _refused(where: Installation, error: ApiRefused, say_of: Callable[[Headers], Sentence]) -> Failed:
    if error.status == 401:
        renew = "renew SLIPWAY_TOKEN, which is set" if os.environ.get("SLIPWAY_TOKEN") else f"run `{where.login}`"
        return Failed(f"{where.url} does not accept the token (any more): {renew}", status=401)
    body, headers = error.detail, error.answer.headers if error.answer is not None else {}
    if not isinstance(body, Mapping) or "message" not in body:
        if error.status == 404:
            return Failed(f"there is no Slipway at {where.url}. {where.advice}", status=404)
        return Failed(f"{where.url}: {error}", status=error.status)
    text = str(body["message"])
    if error.status == 403:
        text += f" (logged in as {where.user})" if where.user else ""
    if error.status >= 500:
        text = f"{text.rstrip('.')}. Try again later." if body.get("retry") else text
        request = headers.get(REQUEST_ID)
        text += f" (request {request})" if request else ""
    messages = messages_of(body)
    if [message.get("message") for message in messages] == [body["message"]]:
        messages = []
    return Failed(text, messages, say_of(headers), error.status, body)


class Client:
    """Requests to the API of one server, about one site."""

    def __init__(
        self,
        where: Installation,
        verbosity: int = 1,
        marker: str | None = None,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        """Nothing is sent yet.

        Parameters
        ----------
        marker : a UUID that ties together what services log.
        trace : is told of every request.

        Raises
        ------
        Failed
            There is no token for this server.
        """
        if where.token is None:
            who = f" as {where.user}" if where.user else ""
            raise Failed(f"not logged in at {where.url}{who}: run `{where.login}`. {where.advice}")
        self.where = where
        self._trace = trace
        self.api = SlipwayClient(self.new_session(READING))
        self._verbosity = verbosity
        self._headers = {"X-Context-Marker": marker} if marker else {}

    def new_session(self, timeout: float) -> ApiSession:
        """Return a session of its own, with a time limit (seconds) for each answer."""
        session = ApiSession.with_token(self.where.url, self.where.user or "", self.where.token, timeout)
        session.trace = self._trace
        return session

    def get(self, path: str, **query: Any) -> requests.Response:
        """Read something."""
        return self.send("GET", path, query)

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        say_of: Callable[[Headers], Sentence] = plainly,
        headers: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> requests.Response:
        """Send a request; `query` without what is None. The site and the verbosity are added.

        Raises
        ------
        Failed
        """
        with told(self.where, say_of):
            answer = self.api.request(
                f"{method} {path}",
                method,
                path,
                {"site": self.where.site, "verbosity": self._verbosity, **query},
                headers={**self._headers, **(headers or {})},
                **arguments,
            )
        if REQUEST_ID not in answer.headers:
            raise Failed(f"what answers at {self.where.url} is not Slipway. {self.where.advice}")
        return answer
