"""Asking the agents of nodes: one request as a coroutine, signed, bounded in time and size, without redirects.

Of many nodes each gets one short question, so many at once, in any event loop.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import resource
import secrets
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

from provisioner_client.errors import ProvisionerError
from provisioner_client.node_agent.agent import SHORTEST_KEY, answer_signature, signature
from provisioner_client.private_files import read_private
from strategy_lib.node_states.reported import UNNAMED, Reported, read_word
from strategy_lib.parsing.bounded_json import read_json
from strategy_lib.parsing.node_networks import ALL_BUT_SPECIAL, NodeNetworks
from strategy_lib.settings import (
    SLIPWAY_NODE_KEY_FILE,
    SLIPWAY_NODE_NETWORKS,
    SLIPWAY_NODE_PROXY,
    SLIPWAY_NODE_SIGNATURES,
    Proxy,
    SettingError,
)

LONGEST_ANSWER: Final = 64 * 1024
BEYOND_WAIT: Final = 5.0
"""Seconds that a request may take beyond the time for which it is to wait."""

_FILES_LEFT: Final = 256
"""How many files and sockets of this process stay free for other work."""
_OWN_LIMITS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.EADDRNOTAVAIL})


class AgentSilent(ProvisionerError):
    """A node's agent gave no answer that counts. See that it runs, is reached, and has the key of its site."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks.

    Attributes
    ----------
    key : of the site.
    name : of this process; a second request of one asker answers its first.
    tls : for https; None: the machine's own certificates are trusted.
    proxy : an HTTP proxy that asks the nodes; None: they are asked directly.
    connecting : so many connections are made at once; the time of the others begins with their turn. None: all are.
    networks : at whose addresses nodes are asked.
    least : the lowest version of signatures that counts (rule 63).
    """

    key: bytes = field(repr=False)
    name: str
    tls: ssl.SSLContext | None = None
    proxy: Proxy | None = None
    connecting: asyncio.Semaphore | None = None
    networks: NodeNetworks = ALL_BUT_SPECIAL
    least: int = 1


async def ask(asker: Asker, node: str, url: str, known: str, wait: float) -> Reported:
    """Ask a node for its state.

    Parameters
    ----------
    node : its name: an answer that another node signs by version 2 does not count.
    url : of its agent, `http://` or `https://`, with its path.
    known : the state that is known; the answer waits for another one. "": it comes at once.
    wait : seconds for which the answer may wait; it is here 5 s after that, or not at all.

    Raises
    ------
    AgentSilent : it does not answer, not in time, not with its state, or not with the site's key; or its address is
        none at which nodes are asked.
    OSError : this process may open no more connections, which says nothing of the node.
    """
    try:
        return await _ask(asker, node, url, known, wait)
    except TimeoutError:
        raise AgentSilent("no connection, or no answer in time") from None
    except ssl.SSLError as error:
        raise AgentSilent(f"TLS: {error.reason or error}") from None
    except OSError as error:
        if error.errno in _OWN_LIMITS:
            raise
        raise AgentSilent(error.strerror or str(error)) from None
    except ProvisionerError:
        raise
    except Exception as error:
        # Whatever a node does, or its URL is: the asking of no other stops for it.
        raise AgentSilent(f"what cannot be taken in ({type(error).__name__})") from error


async def _ask(asker: Asker, node: str, url: str, known: str, wait: float) -> Reported:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    if secure and asker.proxy is not None:
        raise AgentSilent(f"https is not asked through {SLIPWAY_NODE_PROXY.name}")
    tls = (asker.tls or ssl.create_default_context()) if secure else None
    name, port = parts.hostname or "", parts.port or (443 if secure else 80)
    async with asker.connecting or nullcontext():
        ends = asyncio.get_running_loop().time() + wait + BEYOND_WAIT
        async with asyncio.timeout(BEYOND_WAIT):
            address = await _permitted(asker.networks, name, port)
            to = (address, port) if asker.proxy is None else (asker.proxy.host, asker.proxy.port)
            called = name if secure else None
            reader, writer = await asyncio.open_connection(*to, ssl=tls, server_hostname=called, limit=LONGEST_ANSWER)
    target = f"{parts.path or '/'}?{urlencode({'known': known, 'wait': f'{wait:g}', 'node': node})}"
    sent, nonce = f"{time.time():.3f}", secrets.token_hex(16)
    signed = signature(asker.key, "GET", target, sent, nonce, asker.name)
    sent_to = target
    if asker.proxy is not None:
        # Its address, not its name: the proxy might find another one by that.
        sent_to = f"http://{f'[{address}]' if ':' in address else address}:{port}{target}"
    request = (
        f"GET {sent_to} HTTP/1.1\r\nHost: {parts.netloc}\r\nX-Slipway-Time: {sent}\r\nX-Slipway-Nonce: {nonce}\r\n"
        f"X-Slipway-Asker: {asker.name}\r\nX-Slipway-Signature: {signed}\r\nConnection: close\r\n\r\n"
    )
    try:
        async with asyncio.timeout_at(ends):
            writer.write(request.encode("ascii"))
            answer = b""
            # One byte more than is taken: so a longer one is known.
            while len(answer) <= LONGEST_ANSWER and (piece := await reader.read(LONGEST_ANSWER + 1 - len(answer))):
                answer += piece
    finally:
        writer.transport.abort()
    return read_answer(asker, node, nonce, answer)


async def _permitted(networks: NodeNetworks, host: str, port: int) -> str:
    """Return the address at which a host is asked; a name is looked up here alone. Raises `AgentSilent`: at none."""
    try:
        addresses = [str(ip_address(host))]
    except ValueError:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(place[0]) for *_, place in found]
    refusals = {address: networks.refusal(address) for address in addresses}
    for address, why in refusals.items():
        if why is None:
            return address
    raise AgentSilent("; ".join(why for why in refusals.values() if why))


def read_answer(asker: Asker, node: str, nonce: str, answer: bytes) -> Reported:
    """Return what a whole answer of a node says, from its first line on. Raises `AgentSilent`."""
    if len(answer) > LONGEST_ANSWER:
        raise AgentSilent(f"its answer is longer than {LONGEST_ANSWER // 1024} KiB")
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    status = first.split(" ")[1] if first.startswith("HTTP/1.") and " " in first else ""
    if not status:
        raise AgentSilent("its answer is no HTTP")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if status != "200":
        raise AgentSilent(f"HTTP {status}{_why_refused(body)}")
    signed = headers.get("x-slipway-signature", "")
    # Before anything of it is read: nobody but a holder of the key has it read at all.
    version = _signed_by(asker.key, node, nonce, body, signed)
    if not version:
        raise AgentSilent("its answer is not signed with the key of the site, or for another node")
    if version < asker.least:
        raise AgentSilent(
            f"{UNNAMED}, and {SLIPWAY_NODE_SIGNATURES.name} is {asker.least}: put the present agent on the node"
        )
    try:
        return replace(read_word(read_json(body)), signed=version)
    except ValueError as error:
        raise AgentSilent(f"its answer is not understood: {error}") from None


def _why_refused(body: bytes) -> str:
    """Return what a refusal says, which anybody may have written: one line, and not long."""
    try:
        said = read_json(body)
    except ValueError:
        return ""
    why = said.get("error") if isinstance(said, dict) else None
    printable = "".join(sign if sign.isprintable() else " " for sign in why) if isinstance(why, str) else ""
    return f": {' '.join(printable.split())[:200]}" if printable.strip() else ""


def _signed_by(key: bytes, node: str, nonce: str, body: bytes, signed: str) -> int:
    """Return by which version an answer is signed for a node; 0: by none."""
    for version, named in ((2, node), (1, None)):
        if hmac.compare_digest(signed.encode(), answer_signature(key, named, nonce, body).encode()):
            return version
    return 0


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
                answers[name] = await ask(asker, name, url, "", 0.0)
            except AgentSilent as error:
                answers[name] = error.detail
            except OSError:
                await asyncio.sleep(0.1)

    await asyncio.gather(*(take_turns() for _ in range(min(connections_left(most), len(urls)))))
    return answers


class SiteAsker:
    """Asks nodes of sites, each with the key of its site, which is read again each time.

    Parameters
    ----------
    environ : where `SLIPWAY_NODE_KEY_FILE` stands, and `SLIPWAY_NODE_PROXY`, `SLIPWAY_NODE_NETWORKS` and
        `SLIPWAY_NODE_SIGNATURES` if they are.
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
        least = SLIPWAY_NODE_SIGNATURES.read(self._environ)
        return await ask_nodes(Asker(key, self._name, proxy=proxy, networks=networks, least=least), urls, most)


def connections_left(most: int) -> int:
    """Return how many connections this process may open for this, `most` at most; its limit is raised if it can."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < most + _FILES_LEFT:
        enough = most + _FILES_LEFT if hard == resource.RLIM_INFINITY else min(hard, most + _FILES_LEFT)
        resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))
        soft = enough
    return most if soft == resource.RLIM_INFINITY else max(1, min(most, soft - _FILES_LEFT))
