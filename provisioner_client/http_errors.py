"""Errors of HTTP in our own words: what a refusal says, whatever its shape, and what went wrong below HTTP."""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import requests
from urllib3 import exceptions as urllib3_exceptions

from provisioner_client.errors import ProvisionerError, ProvisionerRefused, ProvisionerUnavailable
from provisioner_client.redacting import Redact, nothing_is_secret
from strategy_lib.parsing.bounded_json import read_json

LONGEST: Final = 500
NO_MESSAGE: Final = "no message"
"""What stands for the words of an error that has none."""


class ErrorShape(StrEnum):
    """Who wrote the answer, as far as its shape tells."""

    DRYDOCK = "drydock"  # {"type": "error", "message": …, "retry": false}
    FALCON = "falcon"  # {"title": "500 Internal Server Error", "description"?: …}
    STATUS = "status"  # validatedesign's {"kind": "Status", "status", "message", "details", "code"}
    FORM = "form"  # {"distro_series": ["'x' is not a valid distro_series."], …}, as MAAS's forms answer
    IRONIC = "ironic"  # {"error_message": "{\"faultcode\": …, \"faultstring\": …}"}: JSON within a text
    TEXT = "text"  # plain text, an HTML page, nothing at all


@dataclass(frozen=True, slots=True)
class ErrorText:
    """The message of an error answer, short and on one line, and the code that stands in the body (or None)."""

    shape: ErrorShape
    message: str
    code: int | None = None


def read_error(body: bytes, redact: Redact = nothing_is_secret) -> ErrorText:
    """Understand the body of an error answer, whatever its shape.

    Parameters
    ----------
    body : as it came. The content type is not consulted: Drydock's is not reliable.
    redact : takes secrets out of what it says: before that is shortened, which might leave half a secret standing, and
        after its shape is known, which a secret such as `error` would spoil.
    """

    def said(value: object) -> str:
        words = str(value)
        return one_line(redact(words)) if words else ""

    text = body.decode("utf-8", errors="replace").strip()
    try:
        data: Any = read_json(text)
    except ValueError:
        data = None
    if isinstance(data, dict):
        if data.get("type") == "error" and "message" in data:
            return ErrorText(ErrorShape.DRYDOCK, said(data["message"]))
        if isinstance(data.get("details"), dict) or data.get("kind") == "Status":
            return ErrorText(ErrorShape.STATUS, said(_status_message(data)), _code(data.get("code")))
        if "title" in data:
            parts = [str(data[key]) for key in ("title", "description") if data.get(key)]
            return ErrorText(ErrorShape.FALCON, said(": ".join(parts)), _code(data.get("code")))
        if "message" in data:
            return ErrorText(ErrorShape.DRYDOCK, said(data["message"]), _code(data.get("code")))
        if "error_message" in data:
            return ErrorText(ErrorShape.IRONIC, said(_fault(data["error_message"])) or NO_MESSAGE)
        # Keystone (and other OpenStack services): {"error": {"code", "message", "title"}}
        inner = data.get("error")
        if isinstance(inner, dict) and "message" in inner:
            return ErrorText(ErrorShape.TEXT, said(inner["message"]), _code(inner.get("code")))
        if data and all(isinstance(told, list) for told in data.values()):
            return ErrorText(ErrorShape.FORM, said(_form_message(data)))
    if re.match(r"<(!doctype|html)", text, flags=re.IGNORECASE):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, flags=re.IGNORECASE | re.DOTALL)
        return ErrorText(ErrorShape.TEXT, f"an HTML page: {said(title.group(1))}" if title else "an HTML page")
    return ErrorText(ErrorShape.TEXT, said(text) or NO_MESSAGE)


def one_line(value: object) -> str:
    """Text of a stranger made fit for a log line: no control characters, no line breaks, not endless."""
    text = " ".join("".join(char if char.isprintable() else " " for char in str(value)).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _status_message(data: dict[str, Any]) -> str:
    parts = [str(data[key]) for key in ("message", "reason") if data.get(key)]
    details = data.get("details")
    listed = details.get("messageList") if isinstance(details, dict) else None
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, dict) and item.get("error") and item.get("message"):
            parts.append(str(item["message"]))
    return "; ".join(dict.fromkeys(parts)) or NO_MESSAGE


def _fault(told: object) -> object:
    """Return what Ironic says went wrong. Its older versions give the values themselves, and not as a text."""
    try:
        inner: Any = read_json(told) if isinstance(told, str) else told
    except ValueError:
        return told
    words = (inner.get(name) for name in ("faultstring", "description", "title")) if isinstance(inner, dict) else ()
    return next((word for word in words if word), told)


def _form_message(data: dict[str, Any]) -> str:
    told = ((field, " ".join(map(str, texts))) for field, texts in data.items())
    return "; ".join(text if field == "__all__" else f"{field}: {text}" for field, text in told)


def _code(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return None


_NOT_REACHED = (
    requests.ConnectTimeout,
    urllib3_exceptions.NewConnectionError,
    urllib3_exceptions.NameResolutionError,
    urllib3_exceptions.ConnectTimeoutError,
    ConnectionRefusedError,
)
_TOOK_TOO_LONG = (requests.ReadTimeout, urllib3_exceptions.ReadTimeoutError, TimeoutError)
_BROKE_OFF = (requests.exceptions.ChunkedEncodingError, urllib3_exceptions.IncompleteRead)
_NO_TLS = frozenset(
    {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"}
)
"""OpenSSL's reasons where the other side answers in something else."""
_WRONG_USE = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidHeader,
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidProxyURL,
)


def from_transport(what: str, failure: Exception, clean: Callable[[str], str]) -> ProvisionerError:
    """Turn an exception of the HTTP library into one of ours.

    Parameters
    ----------
    what : method, path and server.
    failure : as raised by requests.
    clean : takes secrets out of a text.
    """
    causes = list(_causes(failure))
    untrusted = next((cause for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)), None)
    if untrusted is not None:
        reason = untrusted.verify_message or str(untrusted)
        trusted = "ca_bundle of the connection names what is trusted"
        said = f"{what}: the server's certificate is not trusted: {reason}; {trusted}"
        return ProvisionerRefused(clean(one_line(said)))
    if any(isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS for cause in causes):
        # Nothing was sent yet.
        said = "what listens there does not speak TLS: is it http:// and not https://, or another port?"
        return ProvisionerUnavailable(f"{what}: {said}", reached=False)
    if any(isinstance(cause, http.client.BadStatusLine) and not _is_cut(cause) for cause in causes):
        said = "what listens there does not answer in HTTP: is it https:// and not http://, or another port?"
        return ProvisionerUnavailable(f"{what}: {said}")
    if any(isinstance(cause, _WRONG_USE) for cause in causes):
        # Their texts repeat the offending header or URL.
        return ProvisionerRefused(f"{what}: the request cannot be sent ({type(failure).__name__})")
    if type(failure) is OSError and failure.errno is None:
        # So says requests that the CA file is not there. An OSError of the system is a kind of it, or has a number.
        return ProvisionerRefused(clean(one_line(f"{what}: {failure}")))
    if any(isinstance(cause, _NOT_REACHED) for cause in causes):
        return ProvisionerUnavailable(f"{what}: no connection ({_innermost(causes, clean)})", reached=False)
    if any(isinstance(cause, _TOOK_TOO_LONG) for cause in causes):
        return ProvisionerUnavailable(f"{what}: no answer in time", timed_out=True)
    if any(isinstance(cause, _BROKE_OFF) for cause in causes):
        return ProvisionerUnavailable(f"{what}: the answer broke off")
    return ProvisionerUnavailable(f"{what}: the connection was lost ({_innermost(causes, clean)})")


def _is_cut(failure: BaseException) -> bool:
    """Whether there was no answer at all, which is a kind of a bad one."""
    return isinstance(failure, http.client.RemoteDisconnected)


def _causes(failure: BaseException) -> Iterator[BaseException]:
    """The exception and everything inside it: requests and urllib3 keep causes in `args`, `reason` and the chain."""
    waiting: list[BaseException] = [failure]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
        waiting.extend(item for item in inner if isinstance(item, BaseException))


def _innermost(causes: list[BaseException], clean: Callable[[str], str]) -> str:
    for cause in causes:
        if isinstance(cause, OSError) and not isinstance(cause, requests.RequestException) and cause.strerror:
            return clean(one_line(cause.strerror))
    return type(causes[-1]).__name__
