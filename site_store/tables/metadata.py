"""What all tables share: the names that constraints and indexes get, and the types of columns."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, LargeBinary, MetaData
from sqlalchemy.types import TypeDecorator

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in time: always aware and in UTC on the way out; a naive one is refused on the way in."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn an aware moment into UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored: use an aware datetime")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return it in UTC, whatever zone the connection has."""
        return None if value is None else value.astimezone(UTC)


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


#: A number from a sequence that only grows.
Serial = BigInteger
