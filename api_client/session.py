"""Requests to one Airflow as one user: its token, time limits, and an exception for each way to fail."""

from __future__ import annotations

import base64
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import requests

from site_engine.errors import AccountRefused, AirflowApiError, AirflowRefused

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_LONGEST_DETAIL = 2000
_TRUSTED = "REQUESTS_CA_BUNDLE"
"""The variable of `requests` that names a file with certificates to trust."""
_TEMPORARY = (408, 429)
Timeout = float | tuple[float, float]
"""Seconds for one answer; or seconds to connect, and seconds for the answer."""


class ApiError(AirflowApiError):
    """An API did not do what was asked; the message says what it answered."""


class ApiUnreachable(ApiError):
    """The API does not answer. Is Airflow running there (`slipway up`)?"""


class ApiRefused(ApiError):
    """The API answered with a status of 400 or more.

    Attributes
    ----------
    what : what was being done.
    status : the HTTP status.
    detail : the answer's own words or structure.
    answer : the answer itself, None where a test made the error.
    """

    def __init__(self, what: str, status: int, detail: Any, answer: requests.Response | None = None) -> None:
        # Not super(): the engine's exceptions beside this one take other arguments.
        Exception.__init__(self, f"{what}: HTTP {status}: {sentence(detail)}")
        self.what = what
        self.status = status
        self.detail = detail
        self.answer = answer

    @classmethod
    def of(cls, what: str, answer: requests.Response, *, own_account: bool) -> ApiRefused:
        """Return the exception for an answer; the engine tells refusals from failures by its class.

        Parameters
        ----------
        own_account : the token was fetched with a password that this process has, so that a 401 refuses the account.
        """
        status = answer.status_code
        kind: type[ApiRefused] = ApiRefused
        if status == 401 and own_account:
            kind = LoginRefused
        elif status < 500 and status not in _TEMPORARY:
            kind = RequestRefused
        return kind(what, status, _detail(answer), answer)


class RequestRefused(ApiRefused, AirflowRefused):
    """The API refused the request for good; nothing has happened."""


class LoginRefused(ApiRefused, AccountRefused):
    """The API does not know the user, or not with this password."""


def sentence(detail: Any) -> str:
    """Return the part of an error answer that is meant for people, on one line."""
    if isinstance(detail, Mapping):
        for key in ("detail", "message", "reason", "title"):
            if detail.get(key):
                return sentence(detail[key])
    if isinstance(detail, Sequence) and not isinstance(detail, str):
        return "; ".join(sentence(part.get("msg", part) if isinstance(part, Mapping) else part) for part in detail)
    return " ".join(str(detail).split())[:_LONGEST_DETAIL]


class ApiSession:
    """Requests to one Airflow as one user, with a token that is given, or fetched with a password when needed."""

    def __init__(
        self, url: str, username: str, password: str | None, timeout: Timeout = 30.0, name: str | None = None
    ) -> None:
        """Send nothing yet.

        Parameters
        ----------
        url : base URL, for example http://127.0.0.1:8080
        password : without one no token can be fetched: see `with_token`.
        name : what messages call the server.  [Airflow at URL]
        """
        self.url = url.rstrip("/")
        self.username = username
        self.trace: Callable[[str], None] | None = None
        """Takes a line for every request, without its secrets."""
        self._name = name or f"Airflow at {self.url}"
        self._password = password
        self._timeout = timeout
        self._token: str | None = None
        self._renewal = math.inf
        self._http = requests.Session()
        # A proxy cannot reach this machine's own loopback.
        self._http.trust_env = urlsplit(self.url).hostname not in _LOOPBACK
        if not self._http.trust_env:
            self._http.verify = os.environ.get(_TRUSTED) or True

    @classmethod
    def with_token(
        cls, url: str, username: str, token: str | None, timeout: Timeout = 30.0, name: str | None = None
    ) -> ApiSession:
        """Return a session with a token that was fetched before (None: without one); it cannot fetch another one."""
        session = cls(url, username, None, timeout, name)
        session._token = token
        return session

    def close(self) -> None:
        self._http.close()

    def token(self) -> str:
        """Return a bearer token; log in if there is none yet, or the one there is ends soon.

        Raises `LoginRefused`: wrong user or password.
        """
        if self._token is None or (self._password is not None and time.time() >= self._renewal):
            self._token = self.log_in(self.username, self._password)
            self._renewal = _renewal(self._token, time.time())
        return self._token

    def log_in(self, user: str, password: str | None, headers: Mapping[str, str] | None = None) -> str:
        """Fetch a token for a user, whose session this need not be. Raises `ApiUnreachable` or `ApiRefused`."""
        what = f"logging in as {user}"
        body = {"username": user, "password": password}
        answer = self._send("POST", "/auth/token", json=body, headers=headers)
        self._check(what, answer)
        token = read_json(what, answer)
        if not isinstance(token, Mapping) or not isinstance(token.get("access_token"), str):
            raise ApiError(f"{self.url} gave no token: is it an Airflow 3?")
        return str(token["access_token"])

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
            if self._token is not None or self._password is not None:
                headers["Authorization"] = f"Bearer {self.token()}"
            answer = self._send(method, path, headers=headers, **arguments)
            if answer.status_code != 401 or last or self._password is None:
                break
            self._token = None
        self._check(what, answer)
        return answer

    def _check(self, what: str, answer: requests.Response) -> None:
        if answer.status_code < 300:
            return
        with answer:
            if answer.status_code < 400:
                target = answer.headers.get("Location", "somewhere else")
                raise ApiError(f"{what}: {answer.url} points to {target}; use the URL of that place")
            raise ApiRefused.of(what, answer, own_account=self._password is not None)

    def _send(self, method: str, path: str, **arguments: Any) -> requests.Response:
        began = time.monotonic()
        # A redirection would lose the body of a POST, or carry the token to another machine.
        options = {"timeout": self._timeout, "allow_redirects": False} | arguments
        try:
            answer = self._http.request(method, self.url + path, **options)
        except requests.exceptions.SSLError as error:
            raise ApiUnreachable(
                f"the certificate of {self.url} is not trusted here ({_reason(error)}); if it is signed by a "
                f"certificate authority of your own, name its file in {_TRUSTED}"
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
            raise ApiUnreachable(f"{self._name} does not answer ({_reason(error)})") from error
        except OSError as error:
            # Not an error of the connection: `requests` looks for the file first.
            raise ApiError(f"{_TRUSTED} names no file with certificates for {self.url}: {error}") from error
        if self.trace is not None:
            took = time.monotonic() - began
            request_id = answer.headers.get("X-Shipyard-Req")
            self.trace(
                f"{method} {self.url}{path}: {answer.status_code} in {took:.2f} s"
                f"{f', request {request_id}' if request_id else ''}"
            )
        return answer


def token_expiry(token: str) -> float | None:
    """Return when a token ends (seconds since 1970), as it says itself; None where it does not say."""
    try:
        payload = token.split(".")[1]
        return float(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def _renewal(token: str, now: float) -> float:
    """Return when to fetch another token (seconds since 1970): after nine tenths of its life."""
    ends = token_expiry(token)
    # One that is refused (401) is replaced all the same.
    return now + 0.9 * (ends - now) if ends is not None and ends > now else math.inf


def read_json(what: str, answer: requests.Response) -> Any:
    """Return the JSON of a good answer. Raises `ApiError`: it is something else: another program answers there."""
    try:
        return answer.json()
    except ValueError as error:
        kind = answer.headers.get("Content-Type", "nothing known")
        raise ApiError(
            f"{what}: what answers at {answer.url} is not Slipway: it sent {kind} instead of JSON. Check the URL"
        ) from error


def read_object(what: str, answer: requests.Response) -> dict[str, Any]:
    """Return the JSON object of a good answer. Raises `ApiError`: it is something else."""
    data = read_json(what, answer)
    if not isinstance(data, dict):
        raise ApiError(f"{what}: Airflow's answer is no JSON object")
    return data


def _detail(answer: requests.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return answer.text or answer.reason


def _reason(error: requests.RequestException) -> str:
    """Return the cause in a few words: the operating system's, else the kind of the error."""
    cause: BaseException | None = error
    seen = 0
    while cause is not None and seen < 10:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        inner = getattr(cause, "reason", None) or next((a for a in cause.args if isinstance(a, BaseException)), None)
        cause = inner if isinstance(inner, BaseException) else cause.__cause__ or cause.__context__
        seen += 1
    return type(error).__name__
