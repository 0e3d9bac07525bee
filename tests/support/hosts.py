"""Hosts of a rig on one machine: network namespaces with names and addresses of their own, which can be cut and slowed.

Only root may make them. Without root all hosts are this machine, and what listens there has a port of its own.
"""

from __future__ import annotations

import ipaddress
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LOOPBACK: Final = "127.0.0.1"
_FILES: Final = Path("/etc/netns")
_NETWORK: Final = ipaddress.ip_network("10.231.0.0/16")
_MARK: Final = "slip"
_SLOW: Final = ("rate", "256kbit", "burst", "8kb", "latency", "2s")
"""Of a slow network, both ways. Delays and losses need a kernel with netem."""


def may_have_namespaces() -> bool:
    """Whether this process can make namespaces."""
    return os.geteuid() == 0 and shutil.which("ip") is not None


def _ip(*words: str, check: bool = True) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 or not check, f"ip {' '.join(words)}: {done.stderr}"
    return done.stdout


@dataclass(frozen=True, slots=True)
class Host:
    """One host.

    Attributes
    ----------
    name, address : of it, known to all others.
    namespace : empty where it is this machine itself.
    wire : its end of the wire on the bridge.
    """

    name: str
    address: str = LOOPBACK
    namespace: str = ""
    wire: str = ""

    def inside(self, command: Sequence[str]) -> list[str]:
        """Return how to run a command there: it becomes the command, with the same process id."""
        if not self.namespace:
            return list(command)
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.name]
        return ["ip", "netns", "exec", self.namespace, *named, *command]

    def cut(self) -> None:
        """Lose all that it sends, and all that is sent to it; nobody is told."""
        _ip("link", "set", self.wire, "nomaster")

    def join(self) -> None:
        """Undo `cut`."""
        _ip("link", "set", self.wire, "master", self.wire.partition("-")[0])

    def slow(self) -> None:
        """Have its network carry little in a second."""
        for inside in ([], ["-n", self.namespace]):
            device = "eth0" if inside else self.wire
            subprocess.run(["tc", *inside, "qdisc", "replace", "dev", device, "root", "tbf", *_SLOW], check=True)

    def quicken(self) -> None:
        """Undo `slow`."""
        for inside in ([], ["-n", self.namespace]):
            device = "eth0" if inside else self.wire
            subprocess.run(["tc", *inside, "qdisc", "del", "dev", device, "root"], check=True)


@contextmanager
def hosts(*names: str, apart: bool) -> Iterator[Mapping[str, Host]]:
    """Make hosts by their names; they go with the context. `apart`: in namespaces."""
    if not apart:
        yield {name: Host(name) for name in names}
        return
    _remove_stale()
    bridge = f"{_MARK}{os.getpid()}"
    taken = {one["local"] for link in json.loads(_ip("-json", "-4", "address")) for one in link["addr_info"]}
    subnet = next(one for one in _NETWORK.subnets(new_prefix=24) if str(one[1]) not in taken)
    try:
        _ip("link", "add", bridge, "type", "bridge")
        _ip("address", "add", f"{subnet[1]}/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        made = {
            name: Host(name, str(subnet[10 + number]), f"{bridge}-{name}", f"{bridge}-{number}")
            for number, name in enumerate(names)
        }
        lines = "".join(f"{host.address} {host.name}\n" for host in made.values())
        for host in made.values():
            _wire(host, bridge, f"{LOOPBACK} localhost\n{lines}")
        yield made
    finally:
        _remove(bridge)


def _wire(host: Host, bridge: str, known: str) -> None:
    folder = _FILES / host.namespace
    folder.mkdir(parents=True)
    (folder / "hosts").write_text(known)
    _ip("netns", "add", host.namespace)
    _ip("link", "add", host.wire, "type", "veth", "peer", "name", "eth0", "netns", host.namespace)
    _ip("link", "set", host.wire, "master", bridge, "up")
    for words in (
        ("address", "add", f"{host.address}/24", "dev", "eth0"),
        ("link", "set", "eth0", "up"),
        ("link", "set", "lo", "up"),
    ):
        _ip("-n", host.namespace, *words)


def _remove(bridge: str) -> None:
    for line in _ip("netns").splitlines():
        if line.split()[0].startswith(f"{bridge}-"):
            _ip("netns", "delete", line.split()[0], check=False)
    for folder in _FILES.glob(f"{bridge}-*"):
        shutil.rmtree(folder)
    _ip("link", "delete", bridge, check=False)


def _remove_stale() -> None:
    """Remove what was left by one that was killed."""
    for link in json.loads(_ip("-json", "link", "show", "type", "bridge")):
        name = link.get("ifname", "")
        with suppress(ValueError):
            if name.startswith(_MARK) and not Path(f"/proc/{int(name.removeprefix(_MARK))}").exists():
                _remove(name)
