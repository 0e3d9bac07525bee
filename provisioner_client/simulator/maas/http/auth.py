"""API keys and OAuth 1 with PLAINTEXT signatures: who sends a request, and how MAAS words a refusal."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.http.answers import Refused
from provisioner_client.simulator.store import Store

DEFAULT_USER, DEFAULT_KEY = "slipway", "demo-consumer:demo-token:demo-secret"
OLDEST_SECONDS = 300
_PARAMETER = re.compile(r'\s*([a-zA-Z_]+)="([^"]*)"')
_REQUIRED = (
    "oauth_consumer_key",
    "oauth_token",
    "oauth_signature",
    "oauth_signature_method",
    "oauth_timestamp",
    "oauth_nonce",
)


@dataclass(frozen=True, slots=True)
class User:
    """A user of MAAS and his API key."""

    name: str
    consumer: str
    token: str
    secret: str
    is_admin: bool = True


def parse_key(text: str, *, is_admin: bool = True) -> User:
    """Read `[NAME=]consumer:token:secret`. Raises `BadAdminRequest` if it has another form."""
    name, _, key = text.rpartition("=")
    parts = key.split(":")
    if len(parts) != 3 or not all(parts):
        raise BadAdminRequest("an API key is consumer:token:secret, or NAME=consumer:token:secret")
    consumer, token, secret = parts
    return User(name or DEFAULT_USER, consumer, token, secret, is_admin)


class Gatekeeper:
    """Knows the keys, and the nonces of the last minutes; `admit` is called inside a transaction of the store."""

    def __init__(self, store: Store, users: tuple[User, ...]) -> None:
        self._store = store
        self._users = users or (parse_key(DEFAULT_KEY),)
        self._seen = 0

    @property
    def names(self) -> frozenset[str]:
        """The users."""
        return frozenset(user.name for user in self._users)

    @property
    def first_user(self) -> str:
        """The user whose key was given first."""
        return self._users[0].name

    def admit(self, request: Request) -> User | None:
        """Return who sends a request; None without any signature.

        Raises `Refused`: 401 for a wrong key, an old time stamp or a nonce that was there before, 400 for a time stamp
        that is no number. Told a wrong secret, MAAS answers with the right one.
        """
        said = request.headers.get("authorization", "")
        if not said.startswith("OAuth "):
            return None
        given = {name: unquote(value) for name, value in _PARAMETER.findall(said)}
        if any(name not in given for name in _REQUIRED):
            return None
        user = self._user(given)
        try:
            age = time.time() - int(given["oauth_timestamp"])
        except ValueError:
            raise Refused(400, "Invalid timestamp: it is not a number") from None
        if age > OLDEST_SECONDS:
            now = int(time.time())
            raise _unauthorized(
                f"Expired timestamp: given {given['oauth_timestamp']} and now {now} has a greater difference than"
                f" threshold {OLDEST_SECONDS}"
            )
        self._spend(given["oauth_nonce"])
        return user

    def _user(self, given: Mapping[str, str]) -> User:
        known = [one for one in self._users if one.consumer == given["oauth_consumer_key"]]
        if not known:
            raise Refused(401, "Authorization Error: Invalid API key.")
        user = next((one for one in known if one.token == given["oauth_token"]), None)
        if user is None:
            raise _unauthorized(f"Invalid access token: {given['oauth_token']}")
        if given["oauth_signature_method"] != "PLAINTEXT":
            raise _unauthorized(f"Signature method {given['oauth_signature_method']} not supported.")
        if given["oauth_signature"] != f"&{user.secret}":
            raise _unauthorized(f"Invalid signature. Expected signature base string: &{user.secret}")
        return user

    def _spend(self, nonce: str) -> None:
        if self._store.value("SELECT 1 FROM maas_nonce WHERE nonce = ?", (nonce,)):
            raise _unauthorized(f"Nonce already used: {nonce}")
        self._store.execute("INSERT INTO maas_nonce (nonce, at) VALUES (?, ?)", (nonce, time.time()))
        self._seen += 1
        if self._seen % 500 == 0:
            self._store.execute("DELETE FROM maas_nonce WHERE at < ?", (time.time() - 2 * OLDEST_SECONDS,))


def _unauthorized(message: str) -> Refused:
    return Refused(401, f"Authorization Error: {message!r}")
