#!/usr/bin/env python3
"""Slipway's node agent: says how this node is to those who have the site's key, and that it stops before it does.

This one file is the whole of it: Python 3.8 and its standard library are enough. `docs/node_states.md` of Slipway says
how it is asked. It answers GET alone:

    GET /state?known=up&wait=60     at once where "up" is wrong, else as soon as it is, after 60 seconds at the latest

Each request is signed with the site's key, and holds once: its time must be near this node's, and no nonce is taken
twice. Answers are signed too: with `&node=NAME` by version 2, which names the node, and for its own name alone.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

STATES = ("up", "initializing", "stopping", "down")
MOST_LINGERING = 4
"""At most this many requests wait for a change. When another comes, the oldest one is answered."""
LONGEST_WAIT = 120.0
CLOCKS_DIFFER = 300.0
"""Seconds that the time of a request and this node's may be apart."""
SHORTEST_KEY = 32
_MOST_CONNECTIONS = 64
"""Of more, one that has not yet asked for anything is closed: the oldest from the address with the most of them."""
_LONGEST_HEAD = 8192
_READ_WITHIN = 5.0
"""Seconds for the head of a request, and for sending an answer."""
_STATE_FILE_EVERY = 1.0
_GOODBYE = 3.0
"""Seconds that a stopping agent waits for somebody to tell, where nobody waits for its answer."""
_PHRASES = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    421: "Misdirected Request",
}


class Refused(Exception):
    """A request that is not answered with the state: HTTP status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def signature(key: bytes, *parts: str) -> str:
    """Return what shows that a text comes from somebody who has the key, in hexadecimal digits."""
    return hmac.new(key, "\n".join(parts).encode(), hashlib.sha256).hexdigest()


def answer_signature(key: bytes, node: str | None, nonce: str, body: bytes) -> str:
    """Return the signature of an answer by version 2: for this node alone (rule 63). Without a node: by version 1.

    Each part of version 2 stands behind its length in bytes: no two answers are one text, and none is one of version 1.
    """
    if node is None:
        return hmac.new(key, b"\n".join((b"answer", nonce.encode(), body)), hashlib.sha256).hexdigest()
    parts = (b"answer 2", node.encode(), nonce.encode(), body)
    return hmac.new(key, b"".join(len(part).to_bytes(8, "big") + part for part in parts), hashlib.sha256).hexdigest()


class Signatures:
    """Which requests hold: those that are signed, of now, and never seen before."""

    def __init__(self, key: bytes, started: float) -> None:
        self._key = key
        self._started = started
        self._seen: dict[str, float] = {}

    def check(self, target: str, headers: dict[str, str], now: float) -> tuple[str, str]:
        """Return who asks and the request's nonce. Raises `Refused`."""
        sent, nonce, asker, signed = (
            headers.get(f"x-slipway-{name}", "") for name in ("time", "nonce", "asker", "signature")
        )
        expected = signature(self._key, "GET", target, sent, nonce, asker)
        if not hmac.compare_digest(signed.encode(), expected.encode()):
            raise Refused(401, "the request is not signed with the key of this node's site")
        if not 16 <= len(nonce) <= 64 or len(asker) > 200:
            raise Refused(400, "the nonce must have 16 to 64 characters, and the asker 200 at most")
        try:
            apart = float(sent) - now
        except ValueError:
            raise Refused(400, "the time must be seconds since 1970") from None
        if not abs(apart) <= CLOCKS_DIFFER:
            raise Refused(401, f"the clocks are {abs(apart):.0f} s apart: set this node's, or the controller's")
        if float(sent) < self._started:
            # What an agent before this one has seen is not known.
            raise Refused(401, "the request is older than this agent")
        for old in [one for one, at in self._seen.items() if at < now - CLOCKS_DIFFER]:
            del self._seen[old]
        if nonce in self._seen:
            raise Refused(401, "the nonce was used before")
        self._seen[nonce] = float(sent)
        return asker, nonce


class Agent:
    """The state of this node, and those who wait until it changes."""

    def __init__(self, key: bytes, state_file: Path | None = None, name: str = "") -> None:
        self._key = key
        self._names = own_names(name)
        self._signatures = Signatures(key, time.time())
        self._state_file = state_file
        self._word = ("up", "")
        self._stopping = False
        self._lingering: dict[str, asyncio.Event] = {}
        self._connections = 0
        self._silent: dict[asyncio.StreamWriter, str] = {}
        self._told = False
        self.read_state()

    def read_state(self) -> None:
        """Take over what the file says: a state, and the reason after it. Without a file, or a word in it: up."""
        if self._state_file is None or self._stopping:
            return
        try:
            text = self._state_file.read_text(encoding="utf-8", errors="replace")[:1000].split()
        except OSError:
            text = []
        if not text:
            self._change("up", "")
        elif text[0] in STATES:
            self._change(text[0], " ".join(text[1:]))
        else:
            self._change("down", f"{self._state_file.name} says {text[0]!r}, which is none of {', '.join(STATES)}")

    async def stop(self, reason: str) -> None:
        """Say that this node is stopping, to all who wait and to who asks now; return when they were told.

        Who has a connection is answered, too, where the request is still on its way: a refused connection says less.
        """
        self._stopping = True
        self._told = False
        self._change("stopping", reason)
        ends = time.monotonic() + _GOODBYE
        while time.monotonic() < ends and not (self._told and not self._connections):
            await asyncio.sleep(0.02)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        self._connections += 1
        self._silent[writer] = str((writer.get_extra_info("peername") or ("",))[0])
        try:
            if self._connections > _MOST_CONNECTIONS:
                self._close_a_silent_one()
            head = asyncio.ensure_future(reader.readuntil(b"\r\n\r\n"))
            done, _ = await asyncio.wait({head}, timeout=_READ_WITHIN)
            if not done:
                head.cancel()
                return
            self._silent.pop(writer, None)
            await self._answer(head.result(), reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            self._silent.pop(writer, None)
            self._connections -= 1
            writer.close()

    def _close_a_silent_one(self) -> None:
        """Make room: those who connect and say nothing keep nobody out who asks at once."""
        addresses = list(self._silent.values())
        crowded = max(addresses, key=addresses.count)
        oldest = next(writer for writer, address in self._silent.items() if address == crowded)
        del self._silent[oldest]
        oldest.transport.abort()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        signed, state = "", False
        try:
            target, headers = parse_head(head)
            known, wait, node = parse_target(target)
            asker, nonce = self._signatures.check(target, headers, time.time())
            require_own(node, self._names)
            await self._linger(asker, known, wait, reader)
            status, body = 200, {"state": self._word[0], "reason": self._word[1]}
            state = True
        except Refused as refused:
            status, body = refused.status, {"error": str(refused)}
        text = json.dumps(body)
        if state:
            signed = answer_signature(self._key, node, nonce, text.encode())
        writer.write(
            f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\nX-Slipway-Signature: {signed}\r\n"
            f"Cache-Control: no-store\r\nConnection: close\r\n\r\n{text}".encode()
        )
        sent = asyncio.ensure_future(writer.drain())
        done, _ = await asyncio.wait({sent}, timeout=_READ_WITHIN)
        if done and sent.exception() is None and state and body.get("state") == "stopping":
            self._told = True

    async def _linger(self, asker: str, known: str, wait: float, reader: asyncio.StreamReader) -> None:
        """Wait until the state is another than the known one, somebody takes this place, or the time is over."""
        earlier = self._lingering.pop(asker, None)
        if earlier is not None:
            earlier.set()
        if known != self._word[0] or wait <= 0 or self._stopping:
            return
        if len(self._lingering) >= MOST_LINGERING:
            self._lingering.pop(next(iter(self._lingering))).set()
        mine = self._lingering[asker] = asyncio.Event()
        # Who has gone makes room: nothing may follow the request, so that this is the end of the connection.
        waits = {asyncio.ensure_future(mine.wait()), asyncio.ensure_future(reader.read(1))}
        try:
            await asyncio.wait(waits, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
            if self._lingering.get(asker) is mine:
                del self._lingering[asker]

    def _change(self, state: str, reason: str) -> None:
        changed = state != self._word[0]
        self._word = (state, reason[:200])
        if changed:
            for waiting in self._lingering.values():
                waiting.set()
            self._lingering.clear()


def parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    """Return the target and the headers of a request, their names in lower case. Raises `Refused`."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refused(400, "this is no request of HTTP/1.1")
    if words[0] != "GET":
        raise Refused(405, "only GET is answered here")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return words[1], headers


def parse_target(target: str) -> tuple[str, float, str | None]:
    """Return the state that the asker knows, for how many seconds it waits for another, and which node it asks.

    None: it does not say, as those do that know version 1 of signatures alone. Raises `Refused`.
    """
    try:
        asked = urlsplit(target)
        query = parse_qs(asked.query, keep_blank_values=True)
        wait = float(query.get("wait", ["0"])[0])
    except ValueError:
        raise Refused(400, "wait must be seconds") from None
    if asked.path != "/state":
        raise Refused(404, "there is /state alone")
    if not 0 <= wait <= LONGEST_WAIT:
        raise Refused(400, f"wait must be 0 to {LONGEST_WAIT:.0f} seconds")
    return query.get("known", [""])[0], wait, query["node"][0] if "node" in query else None


def own_names(name: str) -> tuple[str, ...]:
    """Return for which names an agent signs: the given one, else the name of its host, with and without its domain."""
    if name:
        return (name,)
    host = socket.gethostname()
    return tuple(dict.fromkeys((host, host.partition(".")[0])))


def require_own(node: str | None, names: tuple[str, ...]) -> None:
    """Refuse (`Refused`) to speak for another node: what it signs would pass for that node's word."""
    if node is not None and node not in names:
        own = " or ".join(names)
        raise Refused(421, f"this agent speaks for {own}, not for {node[:200]}: set SLIPWAY_NODE_NAME if that is wrong")


def why_stopping() -> str:
    """Return the reason of a stop: whether the whole node shuts down, as far as systemd says."""
    try:
        found = subprocess.run(["systemctl", "is-system-running"], capture_output=True, timeout=1, check=False)
    except (OSError, subprocess.SubprocessError):
        return "its agent was told to stop"
    return "it shuts down" if found.stdout.strip() == b"stopping" else "its agent was told to stop"


def read_key(file: str) -> bytes:
    """Return the key of the site: of a file that only its owner may read, or of the environment. Ends with a message.

    It is never an argument: the list of processes shows those to everybody.
    """
    if file:
        try:
            # systemd shows its credentials to nobody else, whatever their mode looks like.
            credentials = os.environ.get("CREDENTIALS_DIRECTORY")
            if Path(file).stat().st_mode & 0o077 and not (credentials and Path(file).parent == Path(credentials)):
                sys.exit(f"slipway node-agent: others may read {file}: run chmod 600 {file}")
            key = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            sys.exit(f"slipway node-agent: {file} cannot be read: {getattr(error, 'strerror', 'it is no text')}")
    else:
        key = os.environ.pop("SLIPWAY_NODE_KEY", "")
    if len(key) < SHORTEST_KEY:
        sys.exit(
            f"slipway node-agent: the site's key must have {SHORTEST_KEY} characters at least: give it in a file with "
            "--key-file, or in SLIPWAY_NODE_KEY"
        )
    return key.encode()


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of "10.0.0.5:9650" or "[fd00::5]:9650". Raises `argparse.ArgumentTypeError`."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} must be ADDRESS:PORT, as in 10.0.0.5:9650 or [fd00::5]:9650")
    return host.strip("[]"), int(port)


async def run(
    listen: tuple[str, int], key: bytes, state_file: Path | None, tls: ssl.SSLContext | None, name: str
) -> None:
    """Answer until SIGTERM or SIGINT comes; then say that this node is stopping."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    agent = Agent(key, state_file, name)
    handshake = None if tls is None else _READ_WITHIN
    server = await asyncio.start_server(
        agent.serve, *listen, limit=_LONGEST_HEAD, ssl=tls, ssl_handshake_timeout=handshake
    )
    for one in server.sockets or ():
        host, port = one.getsockname()[:2]
        print(f"listening on {f'[{host}]' if ':' in host else host}:{port}", flush=True)
    stopped = asyncio.ensure_future(told.wait())
    while not stopped.done():
        await asyncio.wait({stopped}, timeout=None if state_file is None else _STATE_FILE_EVERY)
        agent.read_state()
    await agent.stop(await loop.run_in_executor(None, why_stopping))
    server.close()


def main(arguments: list[str] | None = None) -> None:
    """Run the agent in the foreground."""
    parser = argparse.ArgumentParser(prog="slipway node-agent", description=(__doc__ or "").split("\n\n")[0])
    environ = os.environ.get
    parser.add_argument(
        "--listen",
        type=parse_address,
        default=environ("SLIPWAY_NODE_LISTEN"),
        metavar="ADDRESS:PORT",
        help="where to listen, as in 10.0.0.5:9650; or SLIPWAY_NODE_LISTEN",
    )
    parser.add_argument(
        "--key-file",
        default=environ("SLIPWAY_NODE_KEY_FILE", ""),
        metavar="FILE",
        help="has the site's key; or SLIPWAY_NODE_KEY_FILE. Without a file the key is that in SLIPWAY_NODE_KEY",
    )
    parser.add_argument(
        "--node",
        default=environ("SLIPWAY_NODE_NAME", ""),
        metavar="NAME",
        help="the node's name in its design; or SLIPWAY_NODE_NAME. Without it: the name of this host",
    )
    parser.add_argument(
        "--state-file",
        type=Path,
        default=environ("SLIPWAY_NODE_STATE_FILE") or None,
        metavar="FILE",
        help="says how this node is, as in 'initializing loads images'; looked at each second. Without one it is up",
    )
    parser.add_argument("--certificate", metavar="FILE", help="answer https with this certificate, in PEM")
    parser.add_argument("--private-key", metavar="FILE", help="the certificate's key, in PEM")
    options = parser.parse_args(arguments)
    if options.listen is None:
        parser.error("give --listen, as in --listen 10.0.0.5:9650")
    tls = None
    try:
        if options.certificate:
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(options.certificate, options.private_key)
        asyncio.run(run(options.listen, read_key(options.key_file), options.state_file, tls, options.node))
    except OSError as error:
        sys.exit(f"slipway node-agent: {error}")


if __name__ == "__main__":
    main()
