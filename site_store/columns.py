"""Column types that mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer, LargeBinary
from sqlalchemy.types import TypeDecorator, TypeEngine


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in time: always aware and in UTC on the way out; a naive one is refused on the way in."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn an aware moment into UTC; SQLite keeps no zone, so it is left out there."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored: use an aware datetime")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give the zone back."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class CompressedText(TypeDecorator[str]):
    """A long text, kept compressed: designs repeat themselves so much that little of them is left."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Compress it, quickly rather than well."""
        return None if value is None else zlib.compress(value.encode(), 1)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        """Give the text back."""
        return None if value is None else zlib.decompress(value).decode()


#: JSON, where Python's None is SQL's NULL.
Json = JSON(none_as_null=True)

#: A number from a sequence that only grows. SQLite has this for the type INTEGER alone.
Serial: TypeEngine[Any] = BigInteger().with_variant(Integer(), "sqlite")
