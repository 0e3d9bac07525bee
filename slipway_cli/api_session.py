"""Requests to one Airflow, as one user: the token, the patience, and what becomes of refusals."""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import requests

from slipway_cli.errors import SlipwayCliError

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_LONGEST_DETAIL = 2000


class ApiError(SlipwayCliError):
    """An API did not do what was asked; the message says what it answered."""


class ApiUnreachable(ApiError):
    """The API does not answer. Is Airflow running there (`slipway up`)?"""


class ApiRefused(ApiError):
    """The API refused the request.

    Attributes
    ----------
    what : what was being done.
    status : the HTTP status.
    detail : the answer's own words or structure.
    answer : the answer itself, None where a test made the error.
    """

    def __init__(self, what: str, status: int, detail: Any, answer: requests.Response | None = None) -> None:
        super().__init__(f"{what}: HTTP {status}: {sentence(detail)}")
        self.what = what
        self.status = status
        self.detail = detail
        self.answer = answer


def sentence(detail: Any) -> str:
    """The part of an error answer that is meant for people."""
    if isinstance(detail, Mapping):
        for key in ("detail", "message", "reason", "title"):
            if detail.get(key):
                return sentence(detail[key])
    if isinstance(detail, Sequence) and not isinstance(detail, str):
        return "; ".join(sentence(part.get("msg", part) if isinstance(part, Mapping) else part) for part in detail)
    return str(detail)[:_LONGEST_DETAIL]


class ApiSession:
    """Requests to one Airflow as one user, with a token that is given, or fetched with a password when needed."""

    def __init__(self, url: str, username: str, password: str | None, timeout: float = 30.0) -> None:
        """Nothing is sent yet.

        Parameters
        ----------
        url : base URL, for example http://127.0.0.1:8080
        password : without one no token can be fetched: see `with_token`.
        timeout : seconds for one answer.
        """
        self.url = url.rstrip("/")
        self.username = username
        self.trace: Callable[[str], None] | None = None
        """Is told of every request, without its secrets."""
        self._password = password
        self._timeout = timeout
        self._token: str | None = None
        self._renewal = math.inf
        self._http = requests.Session()
        # A proxy cannot reach this machine's own loopback.
        self._http.trust_env = urlsplit(self.url).hostname not in _LOOPBACK

    @classmethod
    def with_token(cls, url: str, username: str, token: str, timeout: float = 30.0) -> ApiSession:
        """A session with a token that was fetched before; it cannot fetch another one."""
        session = cls(url, username, None, timeout)
        session._token = token
        return session

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def token(self) -> str:
        """A bearer token; logs in if there is none yet, or the one there is ends soon.

        Raises
        ------
        ApiRefused
            Wrong user or password.
        """
        if self._token is None or (self._password is not None and time.time() >= self._renewal):
            what = f"logging in as {self.username}"
            answer = self._send("POST", "/auth/token", json={"username": self.username, "password": self._password})
            _check(what, answer)
            token = read_json(what, answer)
            if not isinstance(token, Mapping) or not isinstance(token.get("access_token"), str):
                raise ApiError(f"{self.url} gave no token: is it an Airflow 3?")
            self._token = str(token["access_token"])
            self._renewal = _renewal(self._token, time.time())
        return self._token

    def request(self, what: str, method: str, path: str, **arguments: Any) -> requests.Response:
        """Send a request as the user.

        Parameters
        ----------
        what : what is being done, for messages: "triggering deploy_site".
        path : from the base URL on, with a leading slash.
        arguments : as for `requests.Session.request`.

        Raises
        ------
        ApiUnreachable, ApiRefused
        """
        headers = dict(arguments.pop("headers", {}))
        for last in (False, True):
            headers["Authorization"] = f"Bearer {self.token()}"
            answer = self._send(method, path, headers=headers, **arguments)
            if answer.status_code != 401 or last or self._password is None:
                break
            self._token = None
        _check(what, answer)
        return answer

    def _send(self, method: str, path: str, **arguments: Any) -> requests.Response:
        began = time.monotonic()
        # A redirection would lose the body of a POST, or carry the token to another machine.
        options = {"timeout": self._timeout, "allow_redirects": False} | arguments
        try:
            answer = self._http.request(method, self.url + path, **options)
        except requests.exceptions.SSLError as error:
            raise ApiUnreachable(
                f"the certificate of {self.url} is not trusted here ({_reason(error)}); if it is signed by a "
                "certificate authority of your own, name its file in REQUESTS_CA_BUNDLE"
            ) from error
        except requests.Timeout as error:
            seconds = time.monotonic() - began
            raise ApiUnreachable(f"{self.url} has not answered for {seconds:.0f} s ({method} {path})") from error
        except (
            requests.exceptions.InvalidURL,
            requests.exceptions.InvalidSchema,
            requests.exceptions.MissingSchema,
        ) as error:
            raise ApiError(
                f"{self.url} is no URL that can be asked; write for example https://airflow.example"
            ) from error
        except requests.RequestException as error:
            raise ApiUnreachable(f"Airflow at {self.url} does not answer ({_reason(error)})") from error
        if self.trace is not None:
            took = time.monotonic() - began
            request_id = answer.headers.get("X-Shipyard-Req")
            self.trace(
                f"{method} {self.url}{path}: {answer.status_code} in {took:.2f} s"
                f"{f', request {request_id}' if request_id else ''}"
            )
        return answer


def _renewal(token: str, now: float) -> float:
    """When to fetch another token (seconds since 1970): after nine tenths of the life that the token says it has."""
    try:
        payload = token.split(".")[1]
        ends = float(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        # One that is refused (401) is replaced all the same.
        return math.inf
    return now + 0.9 * (ends - now) if ends > now else math.inf


def read_json(what: str, answer: requests.Response) -> Any:
    """The JSON of a good answer.

    Raises
    ------
    ApiError
        It is something else: whatever answers there is not what was meant.
    """
    try:
        return answer.json()
    except ValueError as error:
        kind = answer.headers.get("Content-Type", "nothing known")
        raise ApiError(
            f"{what}: what answers at {answer.url} is not Slipway: it sent {kind} instead of JSON. Check the URL"
        ) from error


def _check(what: str, answer: requests.Response) -> None:
    if answer.status_code < 300:
        return
    if answer.status_code < 400:
        target = answer.headers.get("Location", "somewhere else")
        raise ApiError(f"{what}: {answer.url} points to {target}; use the URL of that place")
    try:
        detail = answer.json()
    except ValueError:
        detail = answer.text or answer.reason
    raise ApiRefused(what, answer.status_code, detail, answer)


def _reason(error: requests.RequestException) -> str:
    """The cause in a few words: what the operating system said, else the sort of the error."""
    cause: BaseException | None = error
    seen = 0
    while cause is not None and seen < 10:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        inner = getattr(cause, "reason", None) or next((a for a in cause.args if isinstance(a, BaseException)), None)
        cause = inner if isinstance(inner, BaseException) else cause.__cause__ or cause.__context__
        seen += 1
    return type(error).__name__
