"""MAAS's API key, and how a request is signed with it: OAuth 1.0, PLAINTEXT, so that only TLS keeps it secret."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from requests import PreparedRequest
from requests.auth import AuthBase

LARGEST_SKEW: Final = 300.0
"""Seconds by which the clocks may differ: MAAS refuses an older request as if its key were wrong."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The three parts of an API key, as MAAS shows it: ``consumer:token:secret``."""

    consumer: str = field(repr=False)
    token: str = field(repr=False)
    secret: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> ApiKey:
        """Read a key. Raises `ValueError`: it has not three parts, or one that no header can carry."""
        parts = text.strip().split(":")
        if len(parts) != 3 or not all(part and part.isascii() and part.isprintable() for part in parts):
            raise ValueError("the API key must have three parts, consumer:token:secret, as MAAS shows it")
        return cls(*parts)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not appear in any text."""
        return (self.secret, self.token, self.consumer)


class PlaintextAuth(AuthBase):
    """Signs requests with an API key.

    Parameters
    ----------
    key : the account's.
    now, nonce : seconds since 1970; a text that was never given before. Given by tests.
    """

    def __init__(
        self,
        key: ApiKey,
        now: Callable[[], float] = time.time,
        nonce: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self._key = key
        self._now = now
        self._nonce = nonce

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header; it is made anew for each sending, as MAAS takes a nonce once."""
        said = {
            "oauth_version": "1.0",
            "oauth_signature_method": "PLAINTEXT",
            "oauth_nonce": self._nonce(),
            "oauth_timestamp": str(int(self._now())),
            "oauth_consumer_key": self._key.consumer,
            "oauth_token": self._key.token,
            # The consumer's secret, which is empty, and the token's.
            "oauth_signature": f"&{quote(self._key.secret, safe='')}",
        }
        written = ", ".join(f'{name}="{quote(value, safe="")}"' for name, value in said.items())
        request.headers["Authorization"] = f"OAuth {written}"
        return request
