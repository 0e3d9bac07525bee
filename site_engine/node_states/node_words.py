"""What nodes say of themselves, as a leader takes it in: it asks nobody; who asks is given to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from design_rendering.kinds.health_urls import node_urls
from provisioner_client.errors import ProvisionerError
from site_engine.designs import read_revision
from site_engine.errors import EngineError
from site_store import KeyMissing, SiteStore, StoreError
from strategy_lib.errors import StrategyLibError
from strategy_lib.node_states.reported import UNNAMED_NOW, Reported
from strategy_lib.node_states.site_states import SiteStates, SiteStateSettings

log = logging.getLogger("slipway.controller")


class NodeListener(Protocol):
    """Asks nodes how they are, beside the leaders: none of these waits for a node."""

    def follow(self, site: str, version: object, addresses: Callable[[], Mapping[str, str]], most: int) -> None:
        """Ask the nodes of a site from now on, `most` at once; `addresses` is called once for each version."""
        ...

    def forget(self, site: str) -> None:
        """Ask the nodes of a site no more."""
        ...

    def heard(self, site: str) -> list[tuple[str, Reported | None]]:
        """Return what nodes have said since, in that order; None: one did not answer."""
        ...

    def refuse(self, site: str, node: str, why: str) -> None:
        """Take note that what a node has said does not count."""
        ...


def take_words(
    listener: NodeListener,
    store: SiteStore,
    site: str,
    revision: int,
    settings: SiteStateSettings,
    states: SiteStates,
    now: float,
) -> None:
    """Have the nodes of a site asked as its settings say, and take in what they have said since.

    Without a `health_url` nothing is asked, and what nodes have said counts no more. What is signed by an older version
    than a node has signed by before is no word of it (rule 63).
    """
    if not settings.health_url:
        listener.forget(site)
        if states.hears:
            states.hear_nothing(now)
        return
    version = (revision, settings.health_url)
    addresses = partial(_addresses, store, site, revision, settings.health_url)
    listener.follow(site, version, addresses, settings.max_agent_connections)
    heard = listener.heard(site)
    newest: dict[str, int] = {}
    for name, word in heard:
        if word is not None:
            newest[name] = max(word.signed, newest.get(name, 0))
    refused = store.nodes.take_signatures(site, newest) if newest else frozenset()
    for name, word in heard:
        if word is None:
            states.silent(name, now)
        elif name in refused or word.signed < newest[name]:
            listener.refuse(site, name, UNNAMED_NOW)
            states.silent(name, now)
        else:
            states.hear(name, word, now)


def _addresses(store: SiteStore, site: str, revision: int, health_url: str) -> Mapping[str, str]:
    """Return where each node is asked; nowhere, where the design cannot be read.

    Raises `ProvisionerError`: it is not known now; it is asked for again.
    """
    try:
        return node_urls(read_revision(store, site, revision)[1], health_url)
    except KeyMissing as error:
        raise ProvisionerError(f"where its nodes are asked is not known: {error}") from error
    except StoreError as error:
        raise ProvisionerError(f"the store does not answer: {error}") from error
    except (EngineError, StrategyLibError) as error:
        log.warning("Where the nodes of site %s are asked is not known: %s", site, error)
        return {}
