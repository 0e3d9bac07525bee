"""The environment variables of Slipway: of each what it is for, who reads it, its default, and how its text is read.

The table of settings in docs/running.md is made of these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

from strategy_lib.errors import StrategyLibError

Value = TypeVar("Value", covariant=True)
Network = IPv4Network | IPv6Network


class SettingError(StrategyLibError):
    """An environment variable cannot be used.

    Parameters
    ----------
    name : of the variable.
    problem : what is wrong with it, and what would be right.
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(said=f"{name}: {problem}")


@dataclass(frozen=True, slots=True)
class Kind(Generic[Value]):
    """What the text of a variable is.

    Attributes
    ----------
    noun : it is to be one of these.
    example : a text that is one.
    read : returns what a text means. Raises `ValueError`: it is no such text; what the error says is said, too.
    """

    noun: str
    example: str
    read: Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class Setting(Generic[Value]):
    """One environment variable.

    Attributes
    ----------
    name : of the variable.
    kind : what its text is.
    default : its value where it is not set, or empty.
    read_by : the processes that read it.
    meaning : what it says; with links, as it stands in docs/running.md.
    unset : the default in words, where the value itself says nothing.
    """

    name: str
    kind: Kind[Value]
    default: Value
    read_by: str
    meaning: str
    unset: str = "–"

    def read(self, environ: Mapping[str, str]) -> Value:
        """Return its value in this environment. Raises `SettingError`: its text is not of its kind."""
        text = environ.get(self.name)
        return self.parse(text) if text else self.default

    def parse(self, text: str) -> Value:
        """Return what a text means. Raises `SettingError`: it is not of its kind."""
        try:
            return self.kind.read(text)
        except ValueError as error:
            detail = f" ({error})" if error.args else ""
            example = f"; for example {self.kind.example}"
            raise SettingError(self.name, f"{text!r} is not {self.kind.noun}{detail}{example}") from None


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where an HTTP proxy listens."""

    host: str
    port: int


_LARGEST_PORT: Final = 65535
_SWITCH: Final = {
    word: on for on, words in ((True, "on true yes 1"), (False, "off false no 0")) for word in words.split()
}


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LARGEST_PORT:
        raise ValueError
    return int(text)


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ip_network(one) for one in text.replace(",", " ").split())


def _proxy(text: str) -> Proxy:
    parts = urlsplit(text)
    if parts.scheme != "http" or not parts.hostname or not parts.port or parts.username or parts.path.strip("/"):
        raise ValueError
    return Proxy(parts.hostname, parts.port)


def _switch(text: str) -> bool:
    if text.strip().lower() not in _SWITCH:
        raise ValueError
    return _SWITCH[text.strip().lower()]


def _signatures(text: str) -> int:
    if text.strip() not in ("1", "2"):
        raise ValueError
    return int(text)


def _notifiers(text: str) -> dict[str, str]:
    known = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, place = (word.strip() for word in part.partition("="))
        if not name or place.count(":") != 1:
            raise ValueError(f"{part!r} is none")
        known[name] = place
    return known


TEXT: Final = Kind("a text", "abc", str)
PATH: Final = Kind("a path", "/srv/slipway", Path)
PORT: Final = Kind("a port from 0 (any free one) to 65535", "8080", _port)
NETWORKS: Final = Kind("a list of networks", "10.0.0.0/8,fd00::/8", _networks)
PROXY: Final = Kind("the address of an HTTP proxy, without a password", "http://127.0.0.1:3128", _proxy)
SWITCH: Final = Kind("on or off", "off", _switch)
SIGNATURES: Final = Kind("1 or 2", "2", _signatures)
NOTIFIERS: Final = Kind(
    "a list of name=module:class", "slack=airflow.providers.slack.notifications.slack:SlackNotifier", _notifiers
)

_UP, _CLI, _CONTROLLER, _API = "`slipway up`", "the command line", "the controller", "the API server"
_WORKERS, _AGENT = "Airflow's workers", "a [node agent](node_states.md#nodes-report-themselves)"
_NODES_ASKED = f"{_CONTROLLER}; {_WORKERS} and triggerer"
_MADE_UP = "made up"

SLIPWAY_HOME: Final = Setting(
    "SLIPWAY_HOME",
    PATH,
    Path(".slipway"),
    f"{_UP}, `slipway demo`; {_CLI}; all with a store",
    "folder for everything that is kept: databases, logs, passwords",
    "`.slipway`",
)
SLIPWAY_PORT: Final = Setting(
    "SLIPWAY_PORT", PORT, 8080, _UP, "port of the web pages and APIs; 0 takes any free one", "8080"
)
SLIPWAY_SIMULATOR_PORT: Final = Setting(
    "SLIPWAY_SIMULATOR_PORT", PORT, 0, _UP, "port of the provisioner of `demo` and `up --simulator`", "0"
)
SLIPWAY_ADMIN_PASSWORD: Final = Setting(
    "SLIPWAY_ADMIN_PASSWORD", TEXT, "", _UP, "password of the user `admin`, who may do everything", _MADE_UP
)
SLIPWAY_VIEWER_PASSWORD: Final = Setting(
    "SLIPWAY_VIEWER_PASSWORD", TEXT, "", _UP, "password of the user `viewer`, who only reads", _MADE_UP
)
SLIPWAY_DATABASE_URL: Final = Setting(
    "SLIPWAY_DATABASE_URL",
    TEXT,
    "",
    "all with a [store](store.md#which-database)",
    "another PostgreSQL for Slipway's own store",
    "the PostgreSQL in the home",
)
SLIPWAY_STORE_KEYS_FILE: Final = Setting(
    "SLIPWAY_STORE_KEYS_FILE",
    PATH,
    None,
    "all with a [store](store.md#secrets-at-rest)",
    "file with the keys that secrets are stored with, the first encrypts; only its owner may read it",
    "the home's; else Airflow's `[core] fernet_key`",
)
SLIPWAY_DAGS_FOLDER: Final = Setting(
    "SLIPWAY_DAGS_FOLDER", PATH, None, _UP, "another folder of DAGs", "`dags/` of the installation"
)
SLIPWAY_PLUGINS_FOLDER: Final = Setting(
    "SLIPWAY_PLUGINS_FOLDER", PATH, None, _UP, "a folder of more Airflow plugins", "none"
)
SLIPWAY_AIRFLOW: Final = Setting(
    "SLIPWAY_AIRFLOW__SECTION__KEY", TEXT, "", _UP, "any setting of Airflow's, in place of the embedded one"
)
SLIPWAY_URL: Final = Setting(
    "SLIPWAY_URL",
    TEXT,
    "",
    f"{_WORKERS} and API server; {_CONTROLLER}; {_CLI}",
    "[internal address](production.md#internal-and-public-addresses) of the API servers, for all who ask them",
)
SLIPWAY_SERVICE_USER: Final = Setting(
    "SLIPWAY_SERVICE_USER", TEXT, "slipway", _CONTROLLER, "its user in Airflow", "`slipway`"
)
SLIPWAY_SERVICE_PASSWORD: Final = Setting(
    "SLIPWAY_SERVICE_PASSWORD",
    TEXT,
    "",
    f"{_CONTROLLER}; {_UP}",
    "password of the [controller's](#the-controller) user",
    f"{_MADE_UP} by `slipway up`",
)
SLIPWAY_SERVICE_PASSWORD_FILE: Final = Setting(
    "SLIPWAY_SERVICE_PASSWORD_FILE", PATH, None, _CONTROLLER, "file with that password, in place of it"
)
SLIPWAY_NODE_KEY_FILE: Final = Setting(
    "SLIPWAY_NODE_KEY_FILE",
    TEXT,
    "",
    f"{_NODES_ASKED}; {_AGENT}",
    "file with the key of a site's [node agents](node_states.md#how-they-are-asked); `{site}` in it is the site's "
    "name. Without it none is asked",
)
SLIPWAY_NODE_PROXY: Final = Setting(
    "SLIPWAY_NODE_PROXY",
    PROXY,
    None,
    _NODES_ASKED,
    "an HTTP proxy through which the nodes are asked; `slipway up --simulator` is one itself",
)
SLIPWAY_NODE_NETWORKS: Final = Setting(
    "SLIPWAY_NODE_NETWORKS",
    NETWORKS,
    (),
    f"{_NODES_ASKED}; {_API}",
    "the networks in which nodes are asked, as in `10.0.0.0/8,fd00::/8`",
    "all but [special addresses](node_states.md#at-which-addresses)",
)
SLIPWAY_NODE_SIGNATURES: Final = Setting(
    "SLIPWAY_NODE_SIGNATURES",
    SIGNATURES,
    1,
    _NODES_ASKED,
    "`2`: no answer counts that [does not name its node](node_states.md#whose-answer-it-is); `1`: it does, until a "
    "node has answered by version 2",
    "1",
)
SLIPWAY_KEYSTONE: Final = Setting(
    "SLIPWAY_KEYSTONE", SWITCH, True, _API, "`off`: no [Keystone](api.md#keystone) for Airship's clients", "`on`"
)
SLIPWAY_METRICS_TOKEN_FILE: Final = Setting(
    "SLIPWAY_METRICS_TOKEN_FILE", PATH, None, _API, "file with the token that opens the [metrics](monitoring.md)"
)
SLIPWAY_NOTIFIERS: Final = Setting(
    "SLIPWAY_NOTIFIERS", NOTIFIERS, {}, _WORKERS, "more ways of [notifications](monitoring.md)"
)
SLIPWAY_PROFILE: Final = Setting("SLIPWAY_PROFILE", TEXT, "", _CLI, "the server's [profile](cli.md)")
SLIPWAY_SITE: Final = Setting("SLIPWAY_SITE", TEXT, "", _CLI, "the site", "the profile's, else `default`")
SLIPWAY_TOKEN: Final = Setting("SLIPWAY_TOKEN", TEXT, "", _CLI, "a token", "that of `slipway login`")
SLIPWAY_PASSWORD: Final = Setting("SLIPWAY_PASSWORD", TEXT, "", _CLI, "a password for `slipway login`", "asked for")
SLIPWAY_CONNECTION_PASSWORD: Final = Setting(
    "SLIPWAY_CONNECTION_PASSWORD", TEXT, "", _CLI, "a password for `slipway create connection`", "asked for"
)
SLIPWAY_NODE_KEY: Final = Setting("SLIPWAY_NODE_KEY", TEXT, "", _AGENT, "the site's key, in place of a file with it")
SLIPWAY_NODE_LISTEN: Final = Setting("SLIPWAY_NODE_LISTEN", TEXT, "", _AGENT, "where it listens: `ADDRESS:PORT`")
SLIPWAY_NODE_NAME: Final = Setting(
    "SLIPWAY_NODE_NAME", TEXT, "", _AGENT, "the node's name in its design: it signs for no other", "the host's name"
)
SLIPWAY_NODE_STATE_FILE: Final = Setting(
    "SLIPWAY_NODE_STATE_FILE", TEXT, "", _AGENT, "the file with what it says", "it says `up`"
)
SLIPWAY_PYTHON: Final = Setting("SLIPWAY_PYTHON", TEXT, "", "`make`", "the Python that `.venv` is made with")

SETTINGS: Final = tuple(found for found in tuple(globals().values()) if isinstance(found, Setting))
"""All of them, in the order of the table."""
