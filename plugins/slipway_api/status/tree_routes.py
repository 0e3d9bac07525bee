"""The status trees of sites and actions: read, waited for, or streamed as a whole.

They are rendered once for all who ask for the same, and kept under their change token only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response, StreamingResponse

from site_engine.trees.status_trees import (
    ACTION_DEPTH,
    SITE_DEPTH,
    StatusTree,
    action_tree,
    site_tree,
    tree_to_dict,
    walk_action,
    walk_site,
)
from slipway_api.actions.lookup import ActionId, find_known_action
from slipway_api.http import airflow_access as access
from slipway_api.http.concurrency import in_thread
from slipway_api.http.dependencies import SitePath, Store, require_site
from slipway_api.http.kept import Kept
from slipway_api.http.long_polls import LONG_POLLS, Since, Wait

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
            data["root"]["messages"] = [message[:_SHORT] for message in data["root"]["messages"]]
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


router = APIRouter(tags=["status"])

ALL = "all"
NDJSON = "application/x-ndjson"
_LINES_AT_ONCE = 500

Depth = Annotated[
    str | None,
    Query(
        pattern="^(all|[0-9]{1,3})$",
        description="How many levels below the root; `all`: everything, one entry a line (NDJSON), however much it is.",
        examples=["2"],
    ),
]
TouchedOnly = Annotated[bool, Query(description="Leave out entries that nobody has written anything about yet.")]


@dataclass(frozen=True, slots=True)
class TreeReading:
    """How a tree is asked for: the parameters of both routes."""

    depth: Depth = None
    since: Since = None
    wait: Wait = 0.0
    touched_only: TouchedOnly = False

    @property
    def waits(self) -> bool:
        """Whether the answer may wait for a change."""
        return self.since is not None and self.wait > 0

    def levels(self, usual: int) -> int:
        """Return how many levels below the root are wanted; `usual` where nothing is said."""
        return usual if self.depth is None else int(self.depth)


Reading = Annotated[TreeReading, Depends()]

_TREE: dict[str, Any] = {
    "token": "17-2-3.5f1e6a0b9c2d4e8f",
    "read_at": "2026-03-01T12:00:00+00:00",
    "depth": 0,
    "header": {"name": "default", "nodes": 3, "nodes_as_wanted": 3},
    "root": {
        "type": "supergoal",
        "kind": "site",
        "name": "default",
        "status": "success",
        "last_status": "success",
        "last_status_age": 60.0,
        "first_updated": "2026-03-01T11:00:00+00:00",
        "last_updated": "2026-03-01T11:59:00+00:00",
        "leaves": 3,
        "messages": [],
        "counts": {"success": 3},
    },
}
TREE_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The tree; its entries are as `schemas/status_tree.json` says.",
        "content": {
            "application/json": {
                "schema": {"type": "object", "required": ["token", "read_at", "depth", "header", "root"]},
                "example": _TREE,
            },
            NDJSON: {"schema": {"type": "string"}, "example": '{"path": [], "name": "default", "status": "success"}\n'},
        },
    },
    204: {"description": "Nothing is different from `since`."},
    304: {"description": "Nothing is different from `If-None-Match`."},
}


@router.get(
    "/sites/{site}/tree",
    dependencies=[access.may_read],
    summary="How a site stands",
    response_class=Response,
    responses=TREE_ANSWERS,
)
async def get_site_tree(request: Request, site: SitePath, store: Store, reading: Reading) -> Response:
    """Return how a site stands without any action: its groups and nodes, what is wanted against what is done.

    The provisioner is not asked. With `since` and `wait` the answer comes as soon as something is different.
    """
    if reading.depth == ALL or reading.waits:
        await in_thread(lambda: require_site(store, site, default_exists=True))
    if reading.depth == ALL:
        return await stream(walk_site(store, site), touched_only=reading.touched_only)
    levels = reading.levels(SITE_DEPTH)

    def render() -> Rendered:
        tree = site_tree(store, site, levels)
        if tree.root.status is None:
            # Looked up only where nothing was found, so that a view is three statements at most.
            require_site(store, site, default_exists=True)
        return render_tree(tree, levels, touched_only=reading.touched_only)

    return await live(request, (store, "site", site), lambda: store.trees.site_token(site), render, levels, reading)


@router.get(
    "/actions/{action_id}/tree",
    dependencies=[access.may_read],
    summary="How an action stands",
    response_class=Response,
    responses=TREE_ANSWERS,
)
async def get_action_tree(
    request: Request,
    action_id: ActionId,
    store: Store,
    caller: access.CallerDep,
    reading: Reading,
) -> Response:
    """Return how an action stands: its steps, groups, phases and nodes.

    Neither Airflow nor the provisioner is asked. With `since` and `wait` the answer comes as soon as something is
    different.
    """
    record, token, _ = await in_thread(lambda: find_known_action(store, caller, action_id))
    action = record.id
    if reading.depth == ALL:
        return await stream(walk_action(store, action), touched_only=reading.touched_only)
    levels = reading.levels(ACTION_DEPTH)
    return await live(
        request,
        (store, "action", action),
        # Which was read with the action, in this very request.
        (lambda: store.trees.known_action(action).token) if reading.waits else (lambda: token),
        lambda: render_tree(action_tree(store, action, levels), levels, touched_only=reading.touched_only),
        levels,
        reading,
    )


async def live(
    request: Request,
    scope: Hashable,
    read_token: Callable[[], str],
    render: Callable[[], Rendered],
    levels: int,
    reading: TreeReading,
) -> Response:
    """Answer with what is rendered, after a wait for a change where one is asked for.

    Parameters
    ----------
    scope : what the change token is about.
    levels : how many are rendered.
    """
    since = reading.since
    if since is not None and reading.waits:
        await LONG_POLLS.get().newer(scope, read_token, token_of_tag(since), reading.wait)
    refresh = "no-cache" in request.headers.get("cache-control", "")
    key = (scope, (levels, reading.touched_only))
    shown = await in_thread(lambda: RENDERED.get(key, render, lambda kept: kept.token == read_token(), refresh=refresh))
    headers = {"ETag": f'"{shown.tag}"', "Cache-Control": "private, no-cache"}
    if since == shown.tag:
        return Response(status_code=204, headers=headers)
    known = request.headers.get("if-none-match", "")
    if shown.tag in (tag.strip().removeprefix("W/").strip('"') for tag in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(shown.body, media_type="application/json", headers=headers)


async def stream(entries: Iterator[dict[str, Any]], *, touched_only: bool) -> Response:
    """Answer with one entry a line, as they come."""
    # The first one shows whether there is anything at all.
    first = await in_thread(lambda: next(entries))

    def lines() -> Iterator[bytes]:
        yield _lines([first])
        while some := list(islice(entries, _LINES_AT_ONCE)):
            kept = [entry for entry in some if not touched_only or entry["last_status"] is not None]
            if kept:
                yield _lines(kept)

    return StreamingResponse(lines(), media_type=NDJSON, headers={"Cache-Control": "private, no-store"})


def _lines(entries: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
