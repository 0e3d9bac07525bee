"""What the shell completes from the server: sites, actions, their groups and steps, nodes, collections.

A completion that takes long or fails is worse than none: what cannot be asked within two seconds is not offered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

import click
from click.shell_completion import CompletionItem

from slipway_cli import SlipwayCliError
from slipway_cli.online.server.server import SiteServer
from slipway_cli.online.server.server_config import server_config

_PATIENCE = 2.0
"""Seconds for an answer."""
_MOST = 50

# (word, what the shell says of it)
Words = Iterable[tuple[str, str]]


def _ask(context: click.Context, path: str, **query: Any) -> Any:
    """Return the JSON of an answer, None where there is none. The options on the command line say whom to ask."""
    given = {**context.find_root().params, **{name: value for name, value in context.params.items() if value}}
    with contextlib.suppress(SlipwayCliError, click.ClickException, OSError, ValueError):
        server = SiteServer(server_config(given.get("profile"), given.get("site")), timeout=_PATIENCE)
        return server.get(path.format(site=quote(server.where.site, safe="")), **query).json()
    return None


class FromServer(click.ParamType[str]):
    """A word of which the server knows those that are meant most often; any other is taken as well."""

    def __init__(self, name: str, words: Callable[[click.Context, str], Words]) -> None:
        """Nothing is asked yet.

        Parameters
        ----------
        name : of the type.
        words : returns those that may be meant, from the command's context and what is typed so far.
        """
        self.name = name
        self._words = words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with contextlib.suppress(KeyError, TypeError, AttributeError):
            found = self._words(ctx, incomplete)
            return [CompletionItem(word, help=said) for word, said in found if word.startswith(incomplete)][:_MOST]
        return []


def _actions(context: click.Context, _incomplete: str) -> Words:
    return [
        (str(action["id"]), f"{action['name']}, {action['action_lifecycle']}")
        for action in _ask(context, "/actions", limit=_MOST) or ()
    ]


def _described(context: click.Context, action: str | None) -> Mapping[str, Any]:
    """Return an action as it is described, nothing where it is not known."""
    if not action:
        return {}
    return _ask(context, f"/actions/{quote(action.removeprefix('action/'), safe='')}") or {}


def _steps(context: click.Context, incomplete: str) -> Words:
    """Return `<action>/<step>`, or the step's name beside `--action`."""
    named = context.params.get("action")
    head, slash, _ = incomplete.partition("/")
    if not named and not slash:
        return [(f"{action}/", said) for action, said in _actions(context, incomplete)]
    prefix = "" if named else f"{head}/"
    steps = _described(context, named or head).get("steps") or ()
    return [(f"{prefix}{step['id']}", step.get("state") or "") for step in steps]


def _groups(context: click.Context, _incomplete: str) -> Words:
    """Return the groups of the action that the command names."""
    groups = _described(context, context.params.get("action")).get("groups") or ()
    return [(str(group["name"]), str(group["state"])) for group in groups]


def _groups_of_site(context: click.Context, _incomplete: str) -> Words:
    tree = _ask(context, "/sites/{site}/tree", depth=1) or {}
    return [(str(group["name"]), str(group["status"])) for group in (tree.get("root") or {}).get("children") or ()]


def _nodes(context: click.Context, incomplete: str) -> Words:
    """Return nodes of the site; of several with commas between them the last one."""
    before, comma, begun = incomplete.rpartition(",")
    found = _ask(context, "/sites/{site}/nodes", q=begun, limit=_MOST) or {}
    return [(f"{before}{comma}{node['node']}", str(node["status"])) for node in found.get("nodes") or ()]


def _sites(context: click.Context, _incomplete: str) -> Words:
    return [(str(site["name"]), str(site["status"] or "")) for site in _ask(context, "/sites") or ()]


def _collections(context: click.Context, _incomplete: str) -> Words:
    found = _ask(context, "/configdocs") or ()
    return [(str(one["collection_name"]), str(one["new_status"])) for one in found]


COLLECTION = FromServer("collection", _collections)
ACTION = FromServer("action", _actions)
STEP = FromServer("step", _steps)
NODES = FromServer("node", _nodes)
GROUP_OF_SITE = FromServer("group", _groups_of_site)
SITE = FromServer("site", _sites)
GROUP_OF_ACTION = FromServer("group", _groups)
