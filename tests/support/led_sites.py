"""A site with a controller whose looks the test makes: its nodes are listed by words, and versions come at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from site_engine.node_states.leader import SiteLeader
from site_store import SiteStore
from site_store.status.leases import lease_of
from tests.support.revisions import commit_design
from tests.support.sites import document

AT_ONCE: Mapping[str, Any] = {"min_time_between_versions": 0, "quiet_time": 0, "transition_time": 0}


class LedSite:
    """A site that is committed and led.

    Parameters
    ----------
    design : its documents, without those of the settings.
    settings : of the states of its nodes, beside those that have versions come at once.
    """

    def __init__(self, store: SiteStore, name: str, design: str, **settings: Any) -> None:
        self.store, self.name = store, name
        data = {"node_states": {**AT_ONCE, **settings}}
        commit_design(
            store, name, f"{design}---\n{json.dumps(document('slipway/SiteSettings/v1', 'settings', data))}\n"
        )
        self.leader = self.lead("host-1:4711")

    def lead(self, owner: str, seconds: float = 600) -> SiteLeader:
        """Have a controller lead the site from now on; the one before has given it up."""
        before = self.store.leases.get(lease_of(self.name))
        if before is not None:
            self.store.leases.give_up(before)
        held = self.store.leases.take(lease_of(self.name), owner, seconds)
        assert held is not None
        self.leader = SiteLeader(self.store, self.name, held, self.store.now().timestamp())
        return self.leader

    def sees(self, words: Mapping[str, str], power: str = "on") -> None:
        """Let the provisioner list these nodes, and the controller look."""
        said = {name: {"status": word, "power": power, "condition": "other"} for name, word in words.items()}
        self.store.provisioner_lists.save(self.name, "c", said)
        self.leader.look()
