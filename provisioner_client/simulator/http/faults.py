"""HTTP faults played on purpose: reading, keeping and taking them. Playing them on a connection is in `server`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.http.answer import HTML, Answer, phrase
from provisioner_client.simulator.http.answers import api_error, framework_error, status_error, text_error
from provisioner_client.simulator.store import Store


class FaultKind(StrEnum):
    """What goes wrong; the table in the README says what is seen of each."""

    STATUS = "status"
    UNAUTHORIZED = "unauthorized"
    RESET_BEFORE = "reset_before"
    RESET_AFTER = "reset_after"
    TRUNCATED = "truncated"
    HTML = "html"
    LATENCY = "latency"
    TIMEOUT = "timeout"
    DRIP = "drip"
    STALE = "stale"


_LONGEST: Final = 1_000_000_000
"""Seconds that a fault may take."""
_SHAPES = {"a": api_error, "b": lambda status, _: framework_error(status), "c": text_error, "d": status_error}
_SECONDS = {FaultKind.TIMEOUT: 3600.0, FaultKind.DRIP: 0.05, FaultKind.LATENCY: 1.0}
_NEVER_TAKES_EFFECT = frozenset({FaultKind.RESET_BEFORE, FaultKind.UNAUTHORIZED})
_ALWAYS_TAKES_EFFECT = frozenset(
    {FaultKind.RESET_AFTER, FaultKind.TRUNCATED, FaultKind.LATENCY, FaultKind.DRIP, FaultKind.STALE}
)
# The client sees nothing of the true answer, so that the request may take effect at any time.
_MAY_TAKE_EFFECT_LATER = frozenset({FaultKind.STATUS, FaultKind.RESET_AFTER, FaultKind.HTML, FaultKind.TIMEOUT})


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; `after`: the request takes effect first; `effect_after`: so much later. All seconds are real ones."""

    kind: FaultKind
    path: str
    method: str | None
    after: bool
    status: int
    shape: str
    retry_after: str | None
    seconds: float
    effect_after: float = 0.0

    def matches(self, method: str, path: str) -> bool:
        return self.method in (None, method) and fnmatchcase(path, self.path)

    def answer(self) -> Answer | None:
        """Return the answer that is given instead of the true one, if the fault has one."""
        if self.kind is FaultKind.UNAUTHORIZED:
            return api_error(401, "Unauthenticated")
        if self.kind is FaultKind.HTML:
            title = f"{self.status} {phrase(self.status)}"
            page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
            return Answer(self.status, page.encode(), HTML)
        if self.kind is not FaultKind.STATUS:
            return None
        answer = _SHAPES[self.shape](self.status, "Injected fault")
        return answer if self.retry_after is None else answer.with_headers(("Retry-After", self.retry_after))


def parse_fault(data: object) -> tuple[Fault, int, int]:
    """Read one fault; return it with its count and skip.

    Raises `BadAdminRequest` with a sentence naming the field that is wrong.
    """
    if not isinstance(data, Mapping):
        raise BadAdminRequest("a fault is an object with path and kind")
    unknown = set(data) - set(Fault.__dataclass_fields__) - {"count", "skip"}
    if unknown:
        raise BadAdminRequest(f"unknown field of a fault: {', '.join(sorted(map(str, unknown)))}")
    try:
        kind = FaultKind(str(data.get("kind")))
    except ValueError:
        raise BadAdminRequest(f"kind {data.get('kind')!r} is none of {', '.join(FaultKind)}") from None
    path, method = data.get("path", "*"), data.get("method")
    if not isinstance(path, str) or not (method is None or isinstance(method, str)):
        raise BadAdminRequest("path is a glob on the path, method a method or absent")
    shape = data.get("shape", "a")
    if shape not in _SHAPES:
        raise BadAdminRequest(f"shape {shape!r} is none of {', '.join(_SHAPES)}")
    retry_after = data.get("retry_after")
    after = bool(data.get("after", kind is FaultKind.TIMEOUT))
    fault = Fault(
        kind=kind,
        path=path,
        method=None if method is None else method.upper(),
        after=kind in _ALWAYS_TAKES_EFFECT or (after and kind not in _NEVER_TAKES_EFFECT),
        status=_whole(data, "status", 502 if kind is FaultKind.HTML else 500, 100, 599),
        shape=shape,
        retry_after=None if retry_after is None else str(retry_after),
        seconds=_seconds(data, "seconds", _SECONDS.get(kind, 0.0)),
        effect_after=_seconds(data, "effect_after", 0.0),
    )
    if fault.effect_after and kind not in _MAY_TAKE_EFFECT_LATER:
        raise BadAdminRequest(f"effect_after is for faults of kind {', '.join(sorted(_MAY_TAKE_EFFECT_LATER))}")
    return fault, _whole(data, "count", 1, 1, 1_000_000_000), _whole(data, "skip", 0, 0, 1_000_000_000)


class FaultBook:
    """The faults in the store that have something left to do, so that they survive a restart."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, faults: Iterable[tuple[Fault, int, int]]) -> list[dict[str, Any]]:
        with self._store.transaction():
            self._store.execute_many(
                "INSERT INTO fault (remaining, skip, data) VALUES (?, ?, ?)",
                [(count, skip, json.dumps(asdict(fault))) for fault, count, skip in faults],
            )
            return self.describe()

    def take(self, method: str, path: str) -> Fault | None:
        """Return the fault for this request, if there is one, and use it up by one; the oldest that matches wins."""
        with self._store.transaction():
            for row in self._store.rows("SELECT * FROM fault WHERE remaining > 0 ORDER BY id"):
                fault = _load(row["data"])
                if not fault.matches(method, path):
                    continue
                if row["skip"] > 0:
                    self._store.execute("UPDATE fault SET skip = skip - 1 WHERE id = ?", (row["id"],))
                    continue
                self._store.execute("UPDATE fault SET remaining = remaining - 1 WHERE id = ?", (row["id"],))
                return fault
        return None

    def describe(self) -> list[dict[str, Any]]:
        rows = self._store.rows("SELECT * FROM fault WHERE remaining > 0 ORDER BY id")
        return [
            {"id": row["id"], "count": row["remaining"], "skip": row["skip"], **json.loads(row["data"])} for row in rows
        ]

    def clear(self) -> None:
        self._store.execute("DELETE FROM fault")


def _load(text: str) -> Fault:
    data = json.loads(text)
    return Fault(**{**data, "kind": FaultKind(data["kind"])})


def _whole(data: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = data.get(name, default)
    if type(value) is not int or not least <= value <= most:
        raise BadAdminRequest(f"{name} is a number from {least} to {most}")
    return value


def _seconds(data: Mapping[str, Any], name: str, default: float) -> float:
    value = data.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LONGEST:
        raise BadAdminRequest(f"{name} is a number from 0 to {_LONGEST}")
    return float(value)
