"""One HTTP request, as both simulated APIs and the admin API get it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; header names in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def parameters(self) -> dict[str, str]:
        """The query's parameters; of a repeated one the last."""
        return {key: values[-1] for key, values in parse_qs(self.query, keep_blank_values=True).items()}
