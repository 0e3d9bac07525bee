"""The server that a command asks: requests about one site, and what goes wrong in words, with all messages."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import IO, Any
from urllib.parse import quote

import click
import requests
from rich.console import Console
from rich.text import Text

from api_client.session import ApiRefused, ApiSession, ApiUnreachable
from api_client.slipway import SlipwayClient
from slipway_cli import SlipwayCliError
from slipway_cli.online.documents.collection_files import Collection
from slipway_cli.online.server.server_config import ServerConfig
from slipway_cli.output import Sameness, console, print_by_level, printable, sameness
from strategy_lib.settings import SLIPWAY_TOKEN

Message = Mapping[str, Any]
Sentence = Callable[[Message], str]

_CODE = re.compile(r"[A-Z]+\d+")
_ASKING = 10.0
"""Seconds that a server has to say that it is there."""


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
    print_by_level(target, [(level_of(message), _kind(message), say(message)) for message in messages], most)


def _kind(message: Message) -> Sameness | None:
    names = [str(item.get("name") or "") for item in message.get("documents") or () if isinstance(item, Mapping)]
    if len(names) != 1:
        return None
    text = str(message.get("text") or message.get("message"))
    return sameness((message.get("source"), message.get("name"), message.get("path")), text, names[0])


READING = 60.0
"""Seconds for an answer that is read from the store, or by one question to Airflow or to the provisioner."""

WITHOUT_SITE = ("/sites", "/owners", "/repair", "/imports", "/whoami")
"""Beginnings of paths that take no site as a parameter."""

REQUEST_ID = "X-Shipyard-Req"
"""The header that every answer of Slipway's has."""

SentenceOf = Callable[[Mapping[str, str]], Sentence]
"""From an answer's headers, how to say its messages."""


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
def translated_errors(where: ServerConfig, say_of: SentenceOf = lambda _: sentence) -> Iterator[None]:
    """Turn what an API says into what a user can act on; `say_of` gets the headers of the refusal."""
    try:
        yield
    except ApiRefused as error:
        raise _refused(where, error, say_of) from error
    except ApiUnreachable as error:
        raise Failed(f"{error}. {where.advice}") from error


def _refused(where: ServerConfig, error: ApiRefused, say_of: SentenceOf) -> Failed:
    if error.status == 401:
        renew = "renew SLIPWAY_TOKEN, which is set" if SLIPWAY_TOKEN.read(os.environ) else f"run `{where.login}`"
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


def confirm_server(where: ServerConfig) -> None:
    """Make sure, before anybody is asked to log in, that a Slipway answers. Raises `Failed`: none does."""
    session = ApiSession.with_token(where.url, "", None, _ASKING)
    with closing(session), translated_errors(where):
        session.request("asking whether a Slipway is there", "GET", "/slipway/health/live")


class SiteServer:
    """Requests to the API of one server, about one site."""

    def __init__(
        self,
        where: ServerConfig,
        verbosity: int = 1,
        marker: str | None = None,
        trace: Callable[[str], None] | None = None,
        timeout: float = READING,
    ) -> None:
        """Nothing is sent yet; without a token, whether there is a Slipway at all is asked.

        Parameters
        ----------
        marker : a UUID that ties together what services log.
        trace : takes a line for every request.
        timeout : seconds for an answer that is read.

        Raises
        ------
        Failed : there is no token for this server, or no Slipway there.
        """
        if where.token is None:
            confirm_server(where)
            who = f" as {where.user}" if where.user else ""
            raise Failed(f"not logged in at {where.url}{who}: run `{where.login}`. {where.advice}")
        self.where = where
        self._trace = trace
        self.api = SlipwayClient(self.new_session(timeout))
        self._verbosity = verbosity
        self._headers = {"X-Context-Marker": marker} if marker else {}

    def new_session(self, timeout: float) -> ApiSession:
        """Return a session of its own, with a time limit (seconds) for each answer."""
        session = ApiSession.with_token(self.where.url, self.where.user or "", self.where.token, timeout)
        session.trace = self._trace
        return session

    def of_site(self, rest: str) -> str:
        """Return the path of something of the site."""
        return f"/sites/{quote(self.where.site, safe='')}/{rest}"

    def get(self, path: str, **query: Any) -> requests.Response:
        return self.send("GET", path, query)

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        say_of: SentenceOf = lambda _: sentence,
        headers: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> requests.Response:
        """Send a request, without the values that are None. Raises `Failed`.

        The site and the verbosity are added. Paths that name a site themselves, or are about all, do without.
        """
        shared = {} if path.startswith(WITHOUT_SITE) else {"site": self.where.site, "verbosity": self._verbosity}
        with translated_errors(self.where, say_of):
            answer = self.api.request(
                f"{method} {path}",
                method,
                path,
                {**shared, **query},
                headers={**self._headers, **(headers or {})},
                **arguments,
            )
        if REQUEST_ID not in answer.headers:
            raise Failed(f"what answers at {self.where.url} is not Slipway. {self.where.advice}")
        return answer
