"""Trees as they are answered: rendered once for all who ask for the same, and kept under their change token only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from site_engine.trees.status_trees import StatusTree, tree_to_dict
from slipway_api.http.kept import Kept

LARGEST = 1024 * 1024
"""Bytes of an answer, unless the whole tree is asked for."""
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


RENDERED: Kept[Rendered] = Kept(64, 5.0)
"""By scope and parameters. For some seconds: some of what is shown changes with time alone, such as an owner that
never came."""


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
