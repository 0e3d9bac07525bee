"""Many node agents asked at once: one thread, one request pending per node, and of too many nodes the rest in turn."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from provisioner_client.errors import ProvisionerError
from provisioner_client.node_agent.request import AgentSilent, Asker, ask, connections_left
from strategy_lib.node_states.reported import Reported
from strategy_lib.parsing.node_networks import ALL_BUT_SPECIAL, NodeNetworks
from strategy_lib.settings import Proxy, SettingError

log = logging.getLogger("slipway.controller")

_MOST_CONNECTING: Final = 500
"""At most this many connections are opened at once. The others wait, and do not count as silent."""
_MOST_TOLD: Final = 20
"""At most this many different problems of a site are logged."""

Heard = tuple[str, Reported | None]
"""A node, and what it said; None: it did not answer."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often nodes are asked; seconds.

    Attributes
    ----------
    wait : for which a request lingers at a node whose state does not change.
    turn : between two questions to a node that takes turns with others, at least.
    again : after an answer that came at once though nothing had changed.
    silent : after so many failures in a row.
    new_connections : a second, while many nodes are asked for the first time.
    """

    wait: float = 60.0
    turn: float = 5.0
    again: float = 5.0
    silent: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0, 30.0)
    new_connections: float = 1000.0


_PACE: Final = Pace()


@dataclass
class _Site:
    """The nodes of one site. Only the event loop uses its fields, except `out`."""

    version: object
    addresses: Callable[[], Mapping[str, str]]
    most: int
    urls: Mapping[str, str] = field(default_factory=dict)
    asker: Asker | None = None
    known: dict[str, str] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    tasks: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)
    turns: list[tuple[float, str]] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    out: list[Heard] = field(default_factory=list)
    wanted: asyncio.Event = field(default_factory=asyncio.Event)


class AgentListener:
    """Asks the nodes of sites, in a thread of its own from the first site on.

    Parameters
    ----------
    name : of this process: a second request of one asker answers its first.
    key : returns the key of a site. Raises `SettingError`: there is none; it is asked again.
    proxy : an HTTP proxy that asks the nodes; None: they are asked directly.
    networks : at whose addresses nodes are asked.
    least : the lowest version of signatures that counts.
    """

    def __init__(
        self,
        name: str,
        key: Callable[[str], bytes],
        pace: Pace = _PACE,
        proxy: Proxy | None = None,
        networks: NodeNetworks = ALL_BUT_SPECIAL,
        least: int = 1,
    ) -> None:
        self._name = name
        self._key = key
        self._proxy = proxy
        self._networks = networks
        self._least = least
        self._pace = pace
        self._lock = threading.Lock()
        self._sites: dict[str, _Site] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._connecting = asyncio.Semaphore(_MOST_CONNECTING)

    def follow(self, site: str, version: object, addresses: Callable[[], Mapping[str, str]], most: int) -> None:
        """Ask the nodes of a site from now on. What is followed already in this version costs nothing.

        Parameters
        ----------
        addresses : returns where each node is asked; called in another thread, once a version.
        most : so many requests may be pending at once.
        """
        with self._lock:
            known = self._sites.get(site)
            if known is not None and (known.version, known.most) == (version, most):
                return
            if known is None:
                known = self._sites[site] = _Site(version, addresses, most)
            else:
                known.version, known.addresses, known.most = version, addresses, most
            if self._loop is None:
                self._loop, self._connecting = asyncio.new_event_loop(), asyncio.Semaphore(_MOST_CONNECTING)
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="agents", daemon=True)
                self._thread.start()
            loop = self._loop
        loop.call_soon_threadsafe(self._follow, loop, site, known)

    def forget(self, site: str) -> None:
        """Ask the nodes of a site no more."""
        with self._lock:
            known, loop = self._sites.pop(site, None), self._loop
        if known is not None and loop is not None:
            loop.call_soon_threadsafe(self._forget, site, known)

    def heard(self, site: str) -> list[Heard]:
        """Return what nodes of a site have said since this was last asked, in that order."""
        with self._lock:
            known = self._sites.get(site)
            if known is None:
                return []
            out, known.out = known.out, []
            return out

    def refuse(self, site: str, node: str, why: str) -> None:
        """Log that what a node has said does not count, each reason once."""
        with self._lock:
            known = self._sites.get(site)
        if known is not None:
            self._tell(site, known, f"what node {node} says does not count: {why}", why)

    def close(self) -> None:
        """Ask nobody any more, and end the thread."""
        for site in list(self._sites):
            self.forget(site)
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()

    def _follow(self, loop: asyncio.AbstractEventLoop, site: str, known: _Site) -> None:
        known.wanted.set()
        if site not in self._runs:
            self._runs[site] = loop.create_task(self._keep(site, known))

    def _forget(self, site: str, known: _Site) -> None:
        run = self._runs.pop(site, None)
        for task in (*known.tasks.values(), *(() if run is None else (run,))):
            task.cancel()

    async def _keep(self, site: str, known: _Site) -> None:
        """Have the nodes asked that are there now, again after each change."""
        while True:
            known.wanted.clear()
            try:
                key = await asyncio.to_thread(self._key, site)
                how = (self._proxy, self._connecting, self._networks, self._least)
                known.asker = Asker(key, self._name, None, *how)
                urls = await asyncio.to_thread(known.addresses)
            except (ProvisionerError, SettingError) as error:
                self._tell(site, known, str(error))
                self._retry_later(known)
            except Exception:
                log.exception(
                    "Where the nodes of site %s are asked is not known, which is a defect of Slipway's.", site
                )
                self._retry_later(known)
            else:
                self._plan(site, known, urls)
            await known.wanted.wait()

    def _retry_later(self, known: _Site) -> None:
        asyncio.get_running_loop().call_later(self._pace.silent[-1], known.wanted.set)

    def _plan(self, site: str, known: _Site, urls: Mapping[str, str]) -> None:
        for name in known.urls.keys() - urls.keys():
            known.known.pop(name, None)
            self._say(known, name, None)
        known.urls = urls
        most = min(known.most, connections_left(known.most))
        names = sorted(urls)
        pollers = 0 if len(names) <= most else max(1, most // 10)
        lingering = names[: most - pollers] if pollers else names
        known.turns = [(0.0, name) for name in names[len(lingering) :]]
        wanted = {("node", f"{name} {urls[name]}"): name for name in lingering}
        wanted |= {("turns", str(number)): "" for number in range(pollers)}
        for place in known.tasks.keys() - wanted.keys():
            known.tasks.pop(place).cancel()
        loop = asyncio.get_running_loop()
        spread = len(names) / self._pace.new_connections
        for place, name in wanted.items():
            if place not in known.tasks:
                work = self._linger(site, known, name, spread) if name else self._take_turns(site, known)
                known.tasks[place] = loop.create_task(work)

    async def _linger(self, site: str, known: _Site, name: str, spread: float) -> None:
        await asyncio.sleep(random.random() * spread)
        while name in known.urls:
            await asyncio.sleep(await self._ask(site, known, name, self._pace.wait))

    async def _take_turns(self, site: str, known: _Site) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not known.turns:
                await asyncio.sleep(self._pace.turn)
                continue
            turns = known.turns
            due, name = heappop(turns)
            await asyncio.sleep(max(0.0, due - loop.time()))
            if known.turns is turns and name in known.urls:
                pause = await self._ask(site, known, name, 0.0)
                heappush(turns, (loop.time() + max(pause, self._pace.turn), name))

    async def _ask(self, site: str, known: _Site, name: str, wait: float) -> float:
        """Ask a node once; return the seconds until it is asked again."""
        asker, url = known.asker, known.urls[name]
        if asker is None:
            return self._pace.again
        loop = asyncio.get_running_loop()
        state, began = known.known.get(name, ""), loop.time()
        try:
            word = await ask(asker, name, url, state, wait)
        except OSError as error:
            self._tell(
                site,
                known,
                f"this process may open no more connections ({error.strerror}): raise its limit of open files",
            )
            return self._pace.again
        except AgentSilent as error:
            self._tell(site, known, f"node {name} says nothing, as {url} gives {error.detail}", error.detail)
            known.known.pop(name, None)
            self._say(known, name, None)
            failures = known.failures[name] = known.failures.get(name, 0) + 1
            pause = self._pace.silent[min(failures, len(self._pace.silent)) - 1]
            return pause * random.uniform(0.75, 1.25)
        known.failures.pop(name, None)
        known.known[name] = word.state.value
        self._say(known, name, word)
        at_once = word.state.value == state and loop.time() - began < wait / 2
        return self._pace.again if at_once else 0.0

    def _say(self, known: _Site, name: str, word: Reported | None) -> None:
        with self._lock:
            known.out.append((name, word))

    def _tell(self, site: str, known: _Site, text: str, trouble: str | None = None) -> None:
        """Log a trouble, each kind of them once."""
        kind = trouble or text
        if kind not in known.told and len(known.told) < _MOST_TOLD:
            known.told.add(kind)
            log.warning("Site %s: %s", site, text)
