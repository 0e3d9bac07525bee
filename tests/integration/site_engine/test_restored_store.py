"""After a restore: what the store of the backup had only intended may have been sent since, and is not sent again."""

from __future__ import annotations

import pytest

from provisioner_client.designs import DesignSource
from site_store import Claim
from strategy_lib.phase import Phase
from tests.support.driving import Begin
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site

TEXT = site([node("a"), node("b")], [group("all", maximum_failed_nodes=0)])


@pytest.mark.parametrize("sent", [True, False], ids=["sent after the backup", "never sent"])
def test_rule_55_what_may_have_been_sent_after_the_backup_is_looked_for(
    begin: Begin, fake: FakeProvisioner, sent: bool
) -> None:
    before = begin(TEXT)
    begun = before.store.groups.open_attempt(before.action.id, "all", "6")
    arguments = (before.action.id, before.action.site, "all", begun.attempt, Phase.PREPARE, ["a", "b"])
    intended = before.store.operations.begin(Claim(*arguments, before.design_ref))
    # This is what the backup has. Only the provisioner knows whether the operation was sent after it.
    if sent:
        fake.script("b", "prepare", "stuck")
        design = DesignSource(before.design_ref)
        fake.submit(Phase.PREPARE, design, intended.nodes, intended.reference, sent_ago=None)
    before.store.restoring.settle()
    # A task of the time before goes on: it may send nothing any more.
    before.group("all")
    assert len(fake.submissions()) == int(sent)
    after = begin(TEXT, "run-2")
    after.timeout = 3.0
    after.group("all")
    assert fake.looks >= 1
    assert after.states() == dict.fromkeys(("a", "b"), "not_started" if sent else "success")
    assert len(fake.submissions()) == (1 if sent else 2)
    assert fake.double() == []
