"""Asking many nodes once whether they are up: each gets one short question, so many at once, in any event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from provisioner_client.node_agent.agent import SHORTEST_KEY
from provisioner_client.node_agent.listener import connections_left
from provisioner_client.node_agent.request import AgentSilent, Asker, OutOfSockets, ask
from provisioner_client.private_files import read_private
from strategy_lib.node_states.reported import Reported
from strategy_lib.parsing.node_networks import NodeNetworks
from strategy_lib.settings import SLIPWAY_NODE_KEY_FILE, SLIPWAY_NODE_NETWORKS, SLIPWAY_NODE_PROXY, SettingError

Answer = Reported | str
"""What a node says of itself, or why there is no answer that counts."""


def read_site_key(environ: Mapping[str, str], site: str) -> bytes:
    """Return the key of a site, from the file that `SLIPWAY_NODE_KEY_FILE` names; `{site}` there is the site's name.

    Raises `SettingError`: there is no such file, others may read it, or what it has is no key.
    """
    variable = SLIPWAY_NODE_KEY_FILE.name
    named = SLIPWAY_NODE_KEY_FILE.read(environ)
    if not named:
        raise SettingError(variable, f"set it to a file with the key of site {site}; {{site}} in it is the site's name")
    if "{site}" in named and ("/" in site or site.startswith(".")):
        raise SettingError(variable, f"{site!r} is no name for a file")
    return read_private(Path(named.replace("{site}", site)), variable, SHORTEST_KEY).encode()


async def ask_nodes(asker: Asker, urls: Mapping[str, str], most: int) -> dict[str, Answer]:
    """Ask each of these nodes once for its state; none of them waits, and each has answered within 5 seconds or not.

    A node that could not be asked, as this process has no socket left for it, is not in the answer.

    Parameters
    ----------
    urls : node to where its agent is asked.
    most : so many are asked at once (`max_agent_connections`).
    """
    answers: dict[str, Answer] = {}
    left = iter(sorted(urls.items()))

    async def take_turns() -> None:
        for name, url in left:
            try:
                answers[name] = await ask(asker, url, "", 0.0)
            except AgentSilent as error:
                answers[name] = error.detail
            except OutOfSockets:
                await asyncio.sleep(0.1)

    await asyncio.gather(*(take_turns() for _ in range(min(connections_left(most), len(urls)))))
    return answers


class SiteAsker:
    """Asks nodes of sites, each with the key of its site, which is read again each time.

    Parameters
    ----------
    environ : where `SLIPWAY_NODE_KEY_FILE` stands, and `SLIPWAY_NODE_PROXY` and `SLIPWAY_NODE_NETWORKS` if they are.
    name : of this process: a second request of one asker answers its first.
    """

    def __init__(self, environ: Mapping[str, str], name: str) -> None:
        self._environ = environ
        self._name = name

    async def __call__(self, site: str, urls: Mapping[str, str], most: int) -> Mapping[str, Answer]:
        """Ask these nodes of a site once.

        Raises `SettingError`: nobody can be asked.
        """
        key = await asyncio.to_thread(read_site_key, self._environ, site)
        proxy = SLIPWAY_NODE_PROXY.read(self._environ)
        networks = NodeNetworks(SLIPWAY_NODE_NETWORKS.read(self._environ))
        return await ask_nodes(Asker(key, self._name, proxy=proxy, networks=networks), urls, most)
