"""Wrong passwords make their user wait: at the Keystone face, and around Airflow's own login."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_address, ip_network
from math import ceil
from threading import Lock
from typing import Any

from fastapi.responses import JSONResponse
from python_multipart.exceptions import FormParserError
from starlette.datastructures import Headers
from starlette.formparsers import FormParser, MultiPartException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slipway_api.http.airflow_access import secret_key
from slipway_api.http.api_errors import ApiError
from strategy_lib.parsing.bounded_json import read_json

FREE = 4
"""Wrong passwords of a user, from one address, without any wait."""
AT_ONCE = 32
"""Logins of a user, from one address, that may be under way together while none of them was wrong."""
LONGEST_WAIT = 60.0
"""Seconds; the waits are 1, 2, 4, … up to this."""
FORGOTTEN_AFTER = 900.0
"""Seconds without another wrong password after which nothing is remembered."""
ADDRESSES = 4096
"""Addresses that are remembered; of more, those that were wrong last."""
USERS = 64
"""Users that are counted apart at one address; all others there count as one, so that trying many names is slow."""

_OTHERS = b""
_NAMELESS = b"nameless"


@dataclass(slots=True)
class _Tries:
    wrong: int = 0
    last: float = 0.0
    under_way: int = 0


@dataclass(slots=True)
class _Address:
    last: float = 0.0
    users: dict[bytes, _Tries] = field(default_factory=dict)


class WrongPasswords:
    """Who was wrong how often. Safe in threads.

    Parameters
    ----------
    clock : seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._addresses: OrderedDict[str, _Address] = OrderedDict()

    @contextmanager
    def attempt(self, address: str, user: str | None) -> Iterator[Attempt]:
        """Try a password within, and say on the attempt whether it was right or wrong.

        All logins without a readable user (None, or blank) count together at their address; a right one clears nothing.

        Where neither is set, as when Airflow does not answer, the attempt does not count. Many right logins at once are
        fine; after a wrong one, only as many are looked at together as are still free, so that guessing in parallel
        gains nothing.

        Raises `ApiError` 429: they have to wait, and how long is in ``Retry-After``. The password was not looked at.
        """
        name = (user or "").strip().casefold().encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(name, digest_size=16).digest() if name else _NAMELESS
        tries = self._begin(address, key)
        attempt = Attempt()
        try:
            yield attempt
        finally:
            self._end(address, key, tries, attempt)

    def __len__(self) -> int:
        return len(self._addresses)

    def _begin(self, address: str, key: bytes) -> _Tries:
        now = self._clock()
        with self._lock:
            tries = self._tries(address, key, now)
            wait = _wait_after(tries.wrong) - (now - tries.last)
            if wait <= 0 and tries.under_way >= (max(1, FREE - tries.wrong) if tries.wrong else AT_ONCE):
                wait = 1.0
            if wait > 0:
                raise _refusal(wait)
            tries.under_way += 1
            return tries

    def _end(self, address: str, key: bytes, tries: _Tries, attempt: Attempt) -> None:
        now = self._clock()
        with self._lock:
            tries.under_way -= 1
            known = self._addresses.get(address)
            own = known is not None and known.users.get(key) is tries
            if attempt.wrong:
                tries.wrong += 1
                tries.last = now
            elif attempt.right and own and key != _NAMELESS:
                # Not that of many users: one good login would clear it for all of them.
                tries.wrong = 0
            if known is not None and own and tries.wrong == 0 and tries.under_way == 0:
                del known.users[key]

    def _tries(self, address: str, key: bytes, now: float) -> _Tries:
        known = self._addresses.setdefault(address, _Address())
        self._addresses.move_to_end(address)
        known.last = now
        while len(self._addresses) > ADDRESSES or now - next(iter(self._addresses.values())).last > FORGOTTEN_AFTER:
            self._addresses.popitem(last=False)
        if key not in known.users and len(known.users) >= USERS:
            known.users = {
                user: tries
                for user, tries in known.users.items()
                if tries.under_way or now - tries.last <= FORGOTTEN_AFTER
            }
            if len(known.users) >= USERS:
                key = _OTHERS
        tries = known.users.setdefault(key, _Tries())
        if now - tries.last > FORGOTTEN_AFTER:
            tries.wrong = 0
        return tries


REMEMBERED = WrongPasswords()
"""Of this process."""


@dataclass(slots=True)
class Attempt:
    """A password that is being tried: say what it was."""

    right: bool = False
    wrong: bool = False


def address_of(scope: Scope) -> str:
    """Return the client's address; of IPv6 the network, as one machine has as many addresses as it likes.

    Behind a proxy it is the proxy's, unless the server is configured to trust its headers.
    """
    host: str = (scope.get("client") or ("",))[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))


def _wait_after(wrong: int) -> float:
    return 0.0 if wrong < FREE else min(LONGEST_WAIT, 2.0 ** min(wrong - FREE, 10))


def _refusal(wait: float) -> ApiError:
    seconds = ceil(wait)
    return ApiError(
        429,
        f"too many wrong passwords, or logins at once, of this user from this address: try again in {seconds} s",
        retry=True,
        headers={"Retry-After": str(seconds)},
    )


PROOF = "X-Slipway-Login"
"""The header of a login that Slipway asks for itself, on behalf of a client that it has counted already."""
LARGEST_LOGIN = 64 * 1024


def proof_of(user: str, password: str) -> str:
    """Return what shows that Slipway sends this user and password: nobody else has Airflow's secret key."""
    text = json.dumps(["slipway login", user, password]).encode()
    return hmac.new(secret_key().encode(), text, hashlib.sha256).hexdigest()


class SlowedLogin:
    """ASGI middleware around Airflow's login: a user who must wait gets 429, and Airflow does not see the password."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _whole(receive)
        except ClientDisconnect:
            # Nobody reads an answer, but Airflow's middlewares fail without one.
            await JSONResponse({"detail": "the login is not whole"}, 400)(scope, receive, send)
            return
        if body is None:
            await JSONResponse({"detail": f"a login has at most {LARGEST_LOGIN} bytes"}, 413)(scope, receive, send)
            return

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        headers = Headers(scope=scope)
        login = _read_json(body)
        user, password = (str(login.get(key, "")) for key in ("username", "password"))
        if hmac.compare_digest(headers.get(PROOF, "").encode(), proof_of(user, password).encode()):
            await self._app(scope, again, send)
            return
        try:
            with REMEMBERED.attempt(address_of(scope), await _user(body)) as attempt:

                async def judged(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        attempt.right = message["status"] < 300
                        attempt.wrong = message["status"] in (401, 403)
                    await send(message)

                await self._app(scope, again, judged)
        except ApiError as refusal:
            answer = JSONResponse({"detail": refusal.message}, refusal.status, headers=refusal.headers)
            await answer(scope, receive, send)


async def _whole(receive: Receive) -> bytes | None:
    """Return the body; None when it is too large. Raises `ClientDisconnect`: its rest does not come."""
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST_LOGIN:
            return None
    return body


def _read_json(body: bytes) -> Mapping[str, Any]:
    """Return the fields of a login in JSON; none where it is in another form."""
    try:
        found = read_json(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


async def _user(body: bytes) -> str | None:
    """Return the user that a body names; None where it names none, or another as JSON than as a form.

    Which of the two Airflow takes it for is its auth manager's to say, and forms are read by the parser that it uses.
    """

    async def whole() -> AsyncGenerator[bytes, None]:
        yield body

    try:
        form = await FormParser(Headers(), whole()).parse()
    except (MultiPartException, FormParserError):
        return None
    named = (fields.get("username") for fields in (form, _read_json(body)))
    names = {name for name in named if isinstance(name, str)}
    return names.pop() if len(names) == 1 else None
