"""What steps and watchers are given of the store: repositories with only the methods that they may call (rule 41).

It guards against mistakes, such as work that changes its own goal, and not against malice: code that runs in this
process can reach the database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from site_store.sql.database import Database
from site_store.sql.errors import StoreError
from strategy_lib.actors import Access, Actor, may

if TYPE_CHECKING:
    from site_store.actions.wishes import Wishes

T = TypeVar("T")

WRITES: Mapping[str, Mapping[str, Access]] = {
    "revisions": dict.fromkeys(("commit", "add_candidate", "remove_candidate"), Access.WRITE_DESIGN),
    "buffers": dict.fromkeys(("put", "discard"), Access.WRITE_DESIGN),
    "user_states": {"change": Access.WRITE_DESIGN},
    "repair_switches": dict.fromkeys(("stop", "resume"), Access.WRITE_DESIGN),
    "restoring": {"settle": Access.WRITE_DESIGN},
    "site_stops": dict.fromkeys(("put", "remove_site"), Access.WRITE_DESIGN),
    "wishes": {"touch": Access.TOUCH},
}
"""The methods that write what is wanted, by a design or by an administrator; all other writes are feedback."""


class _Limited:
    """A repository without the methods that an actor may not call: to look one up is refused."""

    def __init__(self, repository: object, actor: Actor, refused: Mapping[str, Access]) -> None:
        self._repository, self._actor, self._refused = repository, actor, refused

    def __getattr__(self, name: str) -> Any:
        if name in self._refused:
            _refuse(self._actor, self._refused[name])
        return getattr(self._repository, name)


class ReadOnly(Database):
    """The same database, in which nothing can be written."""

    def __init__(self, database: Database, actor: Actor) -> None:
        self.__dict__.update(vars(database))
        self._actor = actor

    def write(self, work: Callable[..., T]) -> T:
        """Refuse it (`StoreError`)."""
        _refuse(self._actor, Access.WRITE_FEEDBACK)


class _Touches(_Limited):
    """Wishes that can be read; written is `touch` alone, of what is named: `node` for all nodes, or `node/<name>`."""

    def __init__(self, readable: Wishes, touch: Callable[..., dict[str, int]], touches: Collection[str]) -> None:
        super().__init__(readable, Actor.WATCHER, {})
        self._touch, self._named = touch, frozenset(touches)

    def touch(self, site: str, nodes: Collection[str], user: str) -> dict[str, int]:
        """Ask for nodes again, as `Wishes.touch` does. Raises `StoreError`: they are not all named."""
        if "node" not in self._named and not all(f"node/{name}" in self._named for name in nodes):
            raise StoreError("a watcher may touch only what it names: name these nodes in its `touches`")
        return self._touch(site, nodes, user)


def limited(
    repositories: Mapping[str, Any], actor: Actor, touch: Callable[..., dict[str, int]], touches: Collection[str]
) -> dict[str, Any]:
    """Return those of a store's repositories that an actor is given otherwise than they are.

    Parameters
    ----------
    repositories : by name; of a `ReadOnly` database for one that may not write feedback.
    touch, touches : what asks for nodes again, and what a watcher names to touch.
    """
    given: dict[str, Any] = {}
    for name, methods in WRITES.items():
        refused = {method: access for method, access in methods.items() if not may(actor, access)}
        if refused:
            given[name] = _Limited(repositories[name], actor, refused)
    if actor is Actor.WATCHER:
        given["wishes"] = _Touches(repositories["wishes"], touch, touches)
    return given


def _refuse(actor: Actor, access: Access) -> NoReturn:
    raise StoreError(f"a {actor} may not {access.replace('_', ' the ')}: leave that to a person or a commit")
