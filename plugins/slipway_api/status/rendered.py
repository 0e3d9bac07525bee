"""Trees as they are answered: rendered once for all who ask for the same, and kept under their change token only."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from site_engine.trees.status_trees import tree_to_dict

if TYPE_CHECKING:
    from site_engine.trees.status_trees import StatusTree

LARGEST = 1024 * 1024
"""Bytes of an answer, unless the whole tree is asked for."""
_KEPT = 64
"""Trees that are kept."""
_KEPT_FOR = 5.0
"""Seconds: some of what is shown changes with time alone, such as an owner that never came."""
_SHORT = 200
"""Characters of a message, where the whole would be too large."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer.

    Attributes
    ----------
    token : the change token of the facts that it was judged from.
    tag : the token, and a digest of what is shown: another one wherever somebody would see a difference.
    """

    token: str
    tag: str
    body: bytes


def token_of_tag(tag: str) -> str:
    """Return the change token in a tag."""
    return tag.rpartition(".")[0]


def render_tree(tree: StatusTree, depth: int, *, touched_only: bool = False) -> Rendered:
    """Render a tree, with fewer levels, or fewer and shorter messages, where it would be larger than `LARGEST`.

    Parameters
    ----------
    depth : how many levels below the root.
    touched_only : without entries that nobody has written anything about.
    """
    while True:
        data = tree_to_dict(tree, depth)
        if touched_only:
            data["root"] = touched(data["root"])
        digest = hashlib.blake2b(digest_size=8)
        for word in _shown(data):
            digest.update(word.encode("utf-8", "surrogatepass"))
        tag = f"{tree.token}.{digest.hexdigest()}"
        data["token"], data["depth"] = tag, depth
        body = msgspec.json.encode(data)
        if len(body) > LARGEST and depth == 0:
            _shorten(data["root"])
            body = msgspec.json.encode(data)
        if len(body) <= LARGEST or depth == 0:
            return Rendered(tree.token, tag, body)
        depth -= 1


def touched(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry without those below it that nobody has written anything about."""
    if "children" not in entry:
        return entry
    kept = [touched(child) for child in entry["children"] if child["last_status"] is not None]
    return {**entry, "children": kept}


def _shown(data: dict[str, Any]) -> Iterable[str]:
    """Yield what people see of a tree, except times and ages."""
    header = data["header"]
    yield "\0".join(f"{name}={header[name]}" for name in sorted(header) if name != "elapsed")
    entries = [data["root"]]
    while entries:
        entry = entries.pop()
        yield f"\0{entry['name']}\0{entry['status']}\0{entry.get('counts')}\0{entry['messages']}\0{entry.get('group')}"
        entries.extend(entry.get("children", ()))


def _shorten(entry: dict[str, Any]) -> None:
    entry["messages"] = [message[:_SHORT] for message in entry["messages"]]


class RenderedTrees:
    """What was rendered last, by scope and parameters.

    Parameters
    ----------
    clock : seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()

    def get(
        self, key: Hashable, read_token: Callable[[], str], render: Callable[[], Rendered], *, refresh: bool = False
    ) -> Rendered:
        """Return what is rendered: what is kept, if the change token, which is read now, is still the same.

        Of several who ask for the same at once, one renders.

        Parameters
        ----------
        key : all that tells one answer from another.
        read_token : returns the change token now.
        render : makes the answer.
        refresh : nothing that is kept will do: all that is shown was read after the beginning of this call.
        """
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > _KEPT:
                self._places.popitem(last=False)
        with place.lock:
            kept = place.kept
            if (
                not refresh
                and kept is not None
                and self._clock() - place.made <= _KEPT_FOR
                and kept.token == read_token()
            ):
                return kept
            begun = self._clock()
            place.kept, place.made = render(), begun
            return place.kept


class _Place:
    """What is kept of one answer, and who renders it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: Rendered | None = None
        self.made = 0.0


RENDERED = RenderedTrees()
"""Those of this process."""
