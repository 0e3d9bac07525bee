"""What went wrong below HTTP, in our own words: not reached, too slow, not trusted."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator

import requests
from urllib3 import exceptions as urllib3_exceptions

from provisioner_client.drydock.error_shapes import one_line
from provisioner_client.errors import ProvisionerError, ProvisionerRefused, ProvisionerUnavailable

_NOT_REACHED = (
    requests.ConnectTimeout,
    urllib3_exceptions.NewConnectionError,
    urllib3_exceptions.NameResolutionError,
    urllib3_exceptions.ConnectTimeoutError,
    ConnectionRefusedError,
)
_TOOK_TOO_LONG = (requests.ReadTimeout, urllib3_exceptions.ReadTimeoutError, TimeoutError)
_BROKE_OFF = (requests.exceptions.ChunkedEncodingError, urllib3_exceptions.IncompleteRead)
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
    what : str
        Method, path and server.
    failure : Exception
        As raised by requests.
    clean : callable
        Takes secrets out of a text.
    """
    causes = list(_causes(failure))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        reason = next(str(cause) for cause in causes if isinstance(cause, ssl.SSLCertVerificationError))
        return ProvisionerRefused(clean(one_line(f"{what}: the server's certificate is not trusted: {reason}")))
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
