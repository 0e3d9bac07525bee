"""A notification as a signed HTTP request. It follows no redirection, and says nothing of the key."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests

from site_engine.errors import NotDelivered

EVENT, TIMESTAMP, SIGNATURE = "Slipway-Event", "Slipway-Timestamp", "Slipway-Signature"
"""Headers: the id of the event, which is the same in each attempt; the time in seconds; the signature."""
VERSION = "v1"
_TIMEOUT = (5.0, 10.0)
_SCHEMES = ("http", "https")


def signature(key: str, timestamp: int, body: bytes) -> str:
    """Return what proves that a body was sent at a time by one who has the key.

    It is `v1=` and the HMAC-SHA256, in hexadecimal, of the time stamp, a full stop, and the body.
    """
    return f"{VERSION}={hmac.new(key.encode(), str(timestamp).encode() + b'.' + body, hashlib.sha256).hexdigest()}"


def is_signed(key: str, timestamp: int, body: bytes, given: str) -> bool:
    """Tell whether a signature is the right one, in a time that tells nothing; receivers may take it as an example.

    A receiver refuses a time stamp that is older than some minutes, and forgets what it has an event of this id of.
    """
    return hmac.compare_digest(signature(key, timestamp, body).encode(), given.encode())


def body_of(event: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed and sent."""
    return json.dumps(event, separators=(",", ":"), sort_keys=True).encode()


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where notifications are sent.

    Parameters
    ----------
    url : http or https.
    key : signs what is sent.

    Raises
    ------
    ValueError : the URL cannot be used, or there is no key.
    """

    url: str
    key: str = field(repr=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.username is None
        except ValueError:
            usable = False
        if not usable:
            raise ValueError("has no URL that can be used: give its host, as in https://chat.example, without a user")
        if not self.key:
            raise ValueError("has no password: it is the key that signs what is sent")

    def send(self, event_id: str, event: Mapping[str, Any], timestamp: int) -> None:
        """Send a notification once. The caller tries again: the receiver knows a repetition by the event's id.

        Parameters
        ----------
        event : JSON values.
        timestamp : now, in seconds since 1970.

        Raises
        ------
        NotDelivered : no answer below 300 came in time; a sentence without URL and key.
        """
        body = body_of(event)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Slipway",
            EVENT: event_id,
            TIMESTAMP: str(timestamp),
            SIGNATURE: signature(self.key, timestamp, body),
        }
        try:
            # Not the answer's body: nobody reads it, and it may be endless.
            with requests.post(
                self.url, data=body, headers=headers, timeout=_TIMEOUT, allow_redirects=False, stream=True
            ) as answer:
                status = answer.status_code
        except requests.Timeout:
            raise NotDelivered("the receiver has not answered in time") from None
        except requests.exceptions.SSLError:
            raise NotDelivered("the receiver's certificate is not trusted here") from None
        except (requests.RequestException, ValueError) as error:
            # Its text may quote the URL, which may hold a secret of its own.
            raise NotDelivered(f"the receiver cannot be reached ({type(error).__name__})") from None
        if 300 <= status < 400:
            raise NotDelivered(f"the receiver answers {status}, a redirection, which is not followed")
        if status >= 400:
            raise NotDelivered(f"the receiver answers {status}")
