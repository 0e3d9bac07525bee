"""Real node agents on loopback: processes of the one file, as it is put on a node."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import provisioner_client.node_agent.agent as agent_file
from strategy_lib.parsing.node_networks import NodeNetworks
from strategy_lib.settings import SLIPWAY_NODE_NETWORKS
from tests.support.sites import document, group, node, site

KEY = "k" * 40
ON_LOOPBACK = {"SLIPWAY_NODE_NETWORKS": "127.0.0.0/8"}
"""The installation's word that nodes are on this machine."""
LOOPBACK = NodeNetworks(SLIPWAY_NODE_NETWORKS.read(ON_LOOPBACK))


def key_file(path: Path, key: str = KEY) -> Path:
    """Write a site's key, which only its owner may read."""
    path.touch(mode=0o600)
    path.write_text(key)
    return path


def asking_site(names: Iterable[str], port: int, timeout: int) -> str:
    """Return a site of nodes on this machine, at 127.0.0.1, 127.0.0.2 …; their group asks them for so long."""
    nodes = [node(name) for name in names]
    for number, one in enumerate(nodes, 1):
        one["data"]["addressing"] = [{"network": "loop", "address": f"127.0.0.{number}"}]
    asks = {**group("g", minimum_successful_nodes=len(nodes)), "ready": {"timeout": timeout}}
    states = {"health_url": f"http://{{address:loop}}:{port}/state"}
    more = [
        document("drydock/Network/v1", "loop", {"cidr": "127.0.0.0/8"}),
        document("slipway/SiteSettings/v1", "settings", {"node_states": states}),
    ]
    return site(nodes, [asks]) + "".join(f"---\n{json.dumps(one)}\n" for one in more)


async def say_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request as the agent of a node that is up does, by version 1 of signatures."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    nonce = head.partition("X-Slipway-Nonce: ")[2].partition("\r\n")[0]
    text = '{"state": "up", "reason": ""}'
    signed = agent_file.signature(KEY.encode(), "answer", nonce, text)
    writer.write(f"HTTP/1.1 200 OK\r\nX-Slipway-Signature: {signed}\r\n\r\n{text}".encode())
    writer.close()


class AgentProcess:
    """An agent in a process of its own, with a Python that sees no other module of Slipway's."""

    def __init__(
        self, work: Path, key: str = KEY, *more: str, port: int = 0, node: str = "n0", host: str = "127.0.0.1"
    ) -> None:
        self.state_file = work / "state"
        place = str(agent_file.__file__)
        command = [
            sys.executable,
            "-I",
            "-S",
            place,
            "--listen",
            f"{host}:{port}",
            "--node",
            node,
            "--key-file",
            str(key_file(work / "key", key)),
        ]
        self.process = subprocess.Popen(
            [*command, "--state-file", str(self.state_file), *more], stdout=subprocess.PIPE, text=True, cwd=work
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2])
        # What is signed in the millisecond before the agent's start would be refused.
        time.sleep(0.005)
        self.url = f"http://{host}:{self.port}/state"

    def says(self, text: str) -> None:
        """Have the node say so, from the agent's next look at the file on."""
        self.state_file.write_text(text)

    def stop(self) -> int:
        """End it as systemd does; return its exit status."""
        self.process.terminate()
        return self.close()

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self.close()

    def close(self) -> int:
        """Wait for its end."""
        status = self.process.wait(10)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return status
