"""A database as it is at one moment: all that an answer reads is of one snapshot, though others write meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from site_store.errors import AccessRefused
from site_store.sql.database import Database

T = TypeVar("T")


class OneMoment(Database):
    """Reads all in one transaction, which belongs to one thread. It writes nothing, and repeats nothing."""

    def __init__(self, database: Database, connection: Connection) -> None:
        vars(self).update(vars(database))
        self._connection = connection

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on the snapshot. Raises `StoreUnavailable`: the whole answer has to be made again."""
        try:
            return work(self._connection)
        except DBAPIError as error:
            raise self._explained(error) from error

    def read_once(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on the snapshot, as `read` does."""
        return self.read(work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Refuse it: `AccessRefused`."""
        raise AccessRefused("a view of one moment is for reading: write with the store that it was made of")


@contextmanager
def one_moment(database: Database) -> Iterator[OneMoment]:
    """Give the database as it is when it is first read.

    Raises `StoreUnavailable`: it could not be reached.
    """
    try:
        connection = database._reading.connect()
    except DBAPIError as error:
        raise database._explained(error) from error
    with connection:
        yield OneMoment(database, connection)
