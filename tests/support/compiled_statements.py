"""Statements are compiled once for all stores of a test run: each test has a store, and so an engine, of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine

_STATEMENTS: defaultdict[str, dict[Any, Any]] = defaultdict(dict)
"""By the name of the dialect: two engines of Slipway's with the same one write the same SQL."""


class SharedStatements(MutableMapping[Any, Any]):
    """The compiled statements of an engine, which are those of all engines with its dialect.

    SQLAlchemy's key of a statement begins with the engine's own dialect; here it counts by its name.
    """

    def __init__(self, dialect: str) -> None:
        self._of_all = _STATEMENTS[dialect]

    def __getitem__(self, key: Any) -> Any:
        return self._of_all[key[1:]]

    def __setitem__(self, key: Any, compiled: Any) -> None:
        self._of_all[key[1:]] = compiled

    def __delitem__(self, key: Any) -> None:
        del self._of_all[key[1:]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._of_all)

    def __len__(self) -> int:
        return len(self._of_all)


def _sharing_engine(url: Any, **options: Any) -> Engine:
    engine = create_engine(url, **options)
    engine._compiled_cache = SharedStatements(engine.dialect.name)
    return engine


def share_compiled_statements(patch: pytest.MonkeyPatch) -> None:
    """Let all stores that are opened from now on share what is compiled."""
    patch.setattr("site_store.sql.database.create_engine", _sharing_engine)
