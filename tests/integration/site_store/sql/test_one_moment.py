"""A store of one moment: what an answer reads of it belongs together, whatever others write meanwhile."""

from __future__ import annotations

import pytest

from site_store import NewAction, StoreError
from tests.integration.site_store.scenario import SITE, Scenario


def test_nothing_is_written_in_a_view_of_one_moment(site: Scenario) -> None:
    with site.store.at_one_moment() as at:
        assert at.actions.unfinished() == []
        site.action()
        assert at.actions.unfinished() == [], "it is of the moment of the first question"
        with pytest.raises(StoreError, match="a view of one moment"):
            at.actions.ensure("deploy_site", "run-2", NewAction("deploy_site", SITE, None, {}, "ann"))
    assert len(site.store.actions.unfinished()) == 1
