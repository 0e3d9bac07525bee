"""URLs of servers: which can be used, and which server they lead to."""

from __future__ import annotations

from urllib.parse import urlsplit


def server_of(url: str) -> str:
    """Give host and port of a URL that `checked_url` has accepted, also where it leaves the port to its scheme."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def checked_url(url: str) -> str:
    """Give the URL without a slash at its end.

    Raises `ValueError` when it is not an http URL with a host, or carries a user, a query or a fragment. The text does
    not repeat it.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise ValueError("the provisioner's URL cannot be read") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError("the provisioner's URL must be like http://host:9000 or https://host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the provisioner's URL must not contain a user or a password: give them as credentials")
    if parts.query or parts.fragment:
        raise ValueError("the provisioner's URL must not have a query or a fragment")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def identity_of(url: str) -> str:
    """Give what is the same for all URLs of one server that `checked_url` has accepted: host, port and path."""
    return server_of(url) + urlsplit(url).path
