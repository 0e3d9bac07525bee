"""Reading a request as MAAS does: which operation it asks for, and the fields of its form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email import message_from_bytes
from email.message import Message
from urllib.parse import parse_qs

from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.http.answers import Form, Refused

_IN_PATH = re.compile(r"(.*/)op-([a-z_]+)/?")


def query_of(request: Request) -> Form:
    """Return the query's parameters, all values of each."""
    return parse_qs(request.query, keep_blank_values=True)


def form_of(request: Request) -> Form:
    """Return the body's fields; a body in JSON, or of any other type, has none.

    Raises `Refused` (500) for a multipart body whose boundary is not said.
    """
    kind, _, more = request.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return parse_qs(request.body.decode("utf-8", "replace"), keep_blank_values=True)
    if kind == "multipart/form-data":
        if "boundary=" not in more:
            raise Refused(500, "Invalid boundary in multipart: None")
        return _multipart(request.headers, request.body)
    return {}


def operation_of(request: Request, form: Form) -> tuple[str, str | None]:
    """Return the path without its operation, and the operation: in the path, the query or the form."""
    match = _IN_PATH.fullmatch(request.path)
    if match is not None:
        return match[1], match[2]
    for fields in (query_of(request), form):
        if fields.get("op"):
            return request.path, fields["op"][0]
    return request.path, None


def _multipart(headers: Mapping[str, str], body: bytes) -> Form:
    whole = message_from_bytes(b"Content-Type: " + headers["content-type"].encode() + b"\r\n\r\n" + body)
    fields: dict[str, list[str]] = {}
    for part in whole.get_payload() if whole.is_multipart() else ():
        if isinstance(part, Message):
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            if isinstance(name, str) and isinstance(content, bytes):
                fields.setdefault(name, []).append(content.decode("utf-8", "replace"))
    return fields
