"""HTTP as this room needs it: timeouts always, repeats where the caller says that they are safe, errors as values of
`errors`, no secret in any text. It knows nothing of tasks or nodes."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import urlencode

import requests
from requests.auth import AuthBase

from design_rendering.redaction import HIDDEN
from provisioner_client.designs import HiddenAddress
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
)
from provisioner_client.http_errors import NO_MESSAGE, ErrorShape, ErrorText, from_transport, one_line, read_error
from provisioner_client.http_settings import (
    AS_SHIPPED,
    HttpSettings,
    Timeouts,
    checked_url,
    parse_retry_after,
    server_of,
)
from provisioner_client.redacting import redacted_or_not_shown
from provisioner_client.references import newest_ops
from strategy_lib.parsing.bounded_json import read_json

log = logging.getLogger(__name__)

LONGEST_ANSWER: Final = 256 * 1024 * 1024
LONGEST_REQUEST: Final = 16 * 1024 * 1024
_BLOCK: Final = 64 * 1024
_TRY_LATER: Final = frozenset({408, 425, 429})


Acceptable = Callable[[int, ErrorText], bool]
Fields: TypeAlias = Mapping[str, str] | Sequence[tuple[str, str]]
"""A query, or the fields of a form; pairs where a name stands there more than once."""


def none_wanted(status: int, error: ErrorText) -> bool:
    """Every answer that is not 2xx is an error."""
    return False


def is_drydocks(error: ErrorText) -> bool:
    """Whether an answer has the shape that Drydock gives to its own errors."""
    return error.shape is ErrorShape.DRYDOCK


class TokenSource(Protocol):
    """Where the token of a request comes from."""

    def token(self) -> str | None:
        """Token to send, None for none. May ask for one first."""
        ...

    def renew(self, refused: str | None) -> bool:
        """The server refused this token: forget it. True when `token` will now give another one."""
        ...

    def secrets(self) -> tuple[str, ...]:
        """Everything that must never appear in a text."""
        ...

    def close(self) -> None:
        """Give back connections."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer: its status, its headers (lower case) and what its JSON says; of a wanted error, its text."""

    status: int
    headers: Mapping[str, str]
    data: Any


@dataclass(frozen=True, slots=True)
class _Request:
    """What is sent, and which answers besides the good ones are wanted; `kind` is the content type of `payload`."""

    method: str
    path: str
    params: Fields | None = None
    payload: bytes | None = None
    kind: str = ""
    accept: Acceptable = none_wanted

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class HttpSession:
    """Requests to one server, from one thread.

    Parameters
    ----------
    base_url : `http://` or `https://`, without user and password.
    settings : how they are sent.
    tokens : sent as `X-Auth-Token`; renewed once when refused with 401.
    secrets : gives what must never appear in a text; default: what `tokens` gives.
    headers : sent with every request.
    auth : signs each request; what a 401 says is not shown then, as it may quote what was signed with.
    is_own : tells an error of the server itself from one that something on the way has written.
    keeps_connections : False where the server closes a connection after its answer without saying so.

    Raises
    ------
    ValueError : when `base_url` is not such a URL.
    """

    def __init__(
        self,
        base_url: str,
        settings: HttpSettings = AS_SHIPPED,
        *,
        tokens: TokenSource | None = None,
        secrets: Callable[[], tuple[str, ...]] | None = None,
        headers: Mapping[str, str] | None = None,
        auth: AuthBase | None = None,
        is_own: Callable[[ErrorText], bool] = is_drydocks,
        keeps_connections: bool = True,
    ) -> None:
        self.base_url = checked_url(base_url)
        self._server = server_of(self.base_url) + (f" ({settings.named_by})" if settings.named_by else "")
        self.settings = settings
        self.retry, self.timeouts = settings.retry, settings.timeouts
        self._tokens = tokens
        self._secrets = secrets or (tokens.secrets if tokens else tuple)
        self._hidden: set[HiddenAddress] = set()
        self._repeats_slow = True
        self._session = requests.Session()
        self._signs = auth is not None
        self._is_own = is_own
        self._keeps_connections = keeps_connections
        # A no-op: else requests looks for credentials in ~/.netrc and sends them.
        self._session.auth = auth or (lambda prepared: prepared)
        # What is asked for changes by the second: an answer from memory would be a wrong one.
        own = {"Accept": "application/json", "User-Agent": "slipway", "Cache-Control": "no-cache"}
        self._session.headers.update({**own, **(headers or {})})

    def __repr__(self) -> str:
        return f"HttpSession({self.base_url!r})"

    def close(self) -> None:
        self._session.close()

    def hide(self, address: HiddenAddress) -> HiddenAddress:
        """Keep this address out of every text from now on. Returns it."""
        self._hidden.add(address)
        return address

    @contextmanager
    def slow_answers(self, seconds: float) -> Iterator[None]:
        """Wait for each answer for so long meanwhile, and repeat no request whose answer did not come in that time."""
        before = self.timeouts
        self.timeouts = Timeouts(before.connect, seconds, max(before.total, seconds))
        self._repeats_slow = False
        try:
            yield
        finally:
            self.timeouts, self._repeats_slow = before, True

    def get(self, path: str, params: Fields | None = None, *, accept: Acceptable = none_wanted) -> Answer:
        """GET, repeated when there is trouble on the way.

        Parameters
        ----------
        accept : given the status and the text of an answer that is not 2xx: is it wanted, rather than raised?

        Raises
        ------
        ProvisionerUnavailable, ProvisionerRefused, ProvisionerProtocolError
        """
        return self._repeat(_Request("GET", path, params, accept=accept), self.retry.attempts)

    def post(
        self,
        path: str,
        body: object,
        *,
        method: str = "POST",
        attempts: int = 1,
        accept: Acceptable = none_wanted,
    ) -> Answer:
        """POST a JSON body, or send it by another method.

        Parameters
        ----------
        attempts : how often it may be sent at most. More than 1 only where sending it twice does no harm.
        accept : given the status and the text of an answer that is not 2xx: is it wanted, rather than raised?

        Raises
        ------
        ProvisionerUnavailable, ProvisionerRefused, ProvisionerProtocolError
        """
        # Encoded here and not by `json=`: Drydock wants the content type without a charset, byte for byte.
        payload = json.dumps(body, separators=(",", ":")).encode()
        return self._repeat(_Request(method, path, None, payload, "application/json", accept), attempts)

    def form(
        self,
        path: str,
        fields: Fields = (),
        *,
        method: str = "POST",
        attempts: int = 1,
        accept: Acceptable = none_wanted,
    ) -> Answer:
        """Send the fields of a form, or nothing with the method DELETE; else as `post`."""
        payload = urlencode(list(fields.items()) if isinstance(fields, Mapping) else list(fields)).encode()
        kind = "application/x-www-form-urlencoded"
        return self._repeat(_Request(method, path, None, payload, kind, accept), attempts)

    def pause(self, attempt: int, trouble: ProvisionerError) -> None:
        """Wait as the retry policy says after this trouble of this attempt (from 1)."""
        wait = self.retry.wait(attempt, getattr(trouble, "retry_after", None), self.settings.chance())
        self.settings.sleep(wait)

    def _repeat(self, request: _Request, attempts: int) -> Answer:
        if len(request.payload or b"") > LONGEST_REQUEST:
            raise ProvisionerRefused(f"{request}: the request would be {len(request.payload or b'')} bytes long")
        attempts = min(attempts, self.retry.attempts)
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._authorised(request)
            except (ProvisionerUnavailable, ProvisionerProtocolError) as trouble:
                is_slow = isinstance(trouble, ProvisionerUnavailable) and trouble.timed_out
                if attempt >= attempts or (is_slow and not self._repeats_slow):
                    raise
                # Without the answer's own words, which may quote a secret of the design: not all who use this redact.
                said = trouble if trouble.status is None else f"{request}: {trouble.status}"
                log.warning("attempt %d of %d: %s", attempt, attempts, said)
                self.pause(attempt, trouble)

    def _authorised(self, request: _Request) -> Answer:
        token = self._tokens.token() if self._tokens else None
        try:
            return self._once(request, token)
        except AuthenticationFailed as refusal:
            # 401 is said before anything is done, so that even a request that must not be repeated may be.
            if refusal.status != 401 or self._tokens is None or not self._tokens.renew(token):
                raise
            log.info("%s: token refused, asking for a new one", request)
        return self._once(request, self._tokens.token())

    def _once(self, request: _Request, token: str | None) -> Answer:
        headers: dict[str, str] = {}
        if request.payload is not None:
            headers["Content-Type"] = request.kind
        if token:
            headers["X-Auth-Token"] = token
        what, params = str(request), request.params
        # Where it may be the wrong server, or none, that is said too.
        what_where = f"{what} at {self._server}"
        if not self._keeps_connections:
            # What is sent on one that is being closed is lost.
            self._session.close()
        try:
            response = self._session.request(
                request.method,
                self.base_url + request.path,
                params=params if params is None or isinstance(params, Mapping) else list(params),
                data=request.payload,
                headers=headers,
                timeout=(self.timeouts.connect, self.timeouts.read),
                # Per request: $REQUESTS_CA_BUNDLE overrides what a session says, and rightly only the default here.
                verify=self.settings.verify,
                # A redirect would carry the token to wherever it points.
                allow_redirects=False,
                stream=True,
            )
            with response:
                answered = self._read(response, what_where)
        except (requests.RequestException, OSError) as failure:
            # `from None`: the original holds the request with its headers, and texts of its own.
            raise from_transport(what_where, failure, self._redacted) from None
        if self.settings.shown is not None and request.method == "GET" and (newest := newest_ops(answered)):
            self.settings.shown(newest)
        error = ErrorText(ErrorShape.TEXT, "")
        if response.status_code // 100 != 2:
            error = self._read_error(answered)
            if not request.accept(response.status_code, error):
                right_one = self._is_own(error) and response.status_code not in (401, 403)
                raise self._refusal(what if right_one else what_where, response, error)
        headers_said = {name.lower(): value for name, value in response.headers.items()}
        if response.status_code // 100 != 2 and error.shape is ErrorShape.TEXT:
            return Answer(response.status_code, headers_said, error.message)
        return Answer(response.status_code, headers_said, self._parse(what_where, response.status_code, answered))

    def _read(self, response: requests.Response, what: str) -> bytes:
        started = time.monotonic()
        blocks: list[bytes] = []
        size = 0
        for block in response.iter_content(_BLOCK):
            blocks.append(block)
            size += len(block)
            if size > LONGEST_ANSWER:
                raise ProvisionerProtocolError(f"{what}: the answer is longer than {LONGEST_ANSWER} bytes")
            if time.monotonic() - started > self.timeouts.total:
                raise ProvisionerUnavailable(
                    f"{what}: the answer takes longer than {self.timeouts.total:g} s", timed_out=True
                )
        return b"".join(blocks)

    def _parse(self, what: str, status: int, body: bytes) -> Any:
        if not body:
            return None
        try:
            return read_json(body)
        except ValueError:
            text = self._read_error(body).message
            # Not the text of a broken-off answer: that can be long and says nothing. A page's title does.
            hint = f" ({text})" if text.startswith("an HTML page") else ""
            raise ProvisionerProtocolError(
                f"{what}: {status}, but the answer is not JSON{hint}", status=status
            ) from None

    def _refusal(self, what: str, response: requests.Response, error: ErrorText) -> ProvisionerError:
        status = response.status_code
        code = f", code {error.code}" if error.code not in (None, status) else ""
        request_id = one_line(response.headers.get("X-Drydock-Req", ""))[:64]
        where = f" (X-Drydock-Req {request_id})" if request_id else ""
        said = "the credentials are refused" if status == 401 and self._signs else error.message
        detail = self._redacted(f"{what}: {status}{code}: {said}{where}")
        raised = self._raised(what, response, error, detail)
        raised.said = "" if said == NO_MESSAGE else self._redacted(said)
        return raised

    def _raised(self, what: str, response: requests.Response, error: ErrorText, detail: str) -> ProvisionerError:
        status = response.status_code
        asked = parse_retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
        # A conflict that names a time is one of the server's transactions: nothing was done.
        if status >= 500 or status in _TRY_LATER or (status == 409 and asked is not None):
            # 408 and 504: a server or proxy gave up waiting; the request may still be at work.
            is_late = status in (408, 504)
            own = self._is_own(error)
            return ProvisionerUnavailable(detail, status=status, retry_after=asked, timed_out=is_late, answered=own)
        if status in (401, 403):
            return AuthenticationFailed(detail, status=status)
        if 300 <= status < 400:
            # As a balancer or a login page answers for a while. It is never followed, with the token least of all.
            said = f"{what}: {status}: a redirect, which is not followed; if it stays, give the URL that it leads to"
            return ProvisionerUnavailable(said, status=status)
        return ProvisionerRefused(detail, status=status, answered=self._is_own(error))

    def _read_error(self, body: bytes) -> ErrorText:
        text = self._redacted(body.decode("utf-8", errors="replace"))
        return read_error(text.encode(), lambda said: redacted_or_not_shown(self.settings.redact, said))

    def _redacted(self, text: str) -> str:
        for secret in self._secrets():
            text = text.replace(secret, HIDDEN)
        for address in self._hidden:
            text = address.hide(text)
        return text
