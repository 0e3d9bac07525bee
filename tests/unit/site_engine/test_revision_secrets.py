"""What of a revision is secret, and that a task, the triggerer and the API take it out of what a provisioner says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml

from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskAction, TaskMessage, TaskState
from provisioner_client.redacting import NOT_SHOWN, RedactingProvisioner
from site_engine.designs import read_revision
from site_engine.redaction import exposed_in, redact_for_action, redact_for_site, secrets_of
from site_store import RevisionSecrets, SiteStore
from slipway_airflow.operators.acquire import AcquireSiteOperator
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site
from tests.support.stores import new_store

SECRET = "hunter2hunter2"
INHERITED = "inherited-hunter2"


def talking_task(*texts: str) -> ProvisionerTask:
    """Return a task of a provisioner that says this."""
    messages = tuple(TaskMessage(text=text, error=True, context=None, at=None) for text in texts)
    return ProvisionerTask(
        "t", TaskAction.PREPARE_NODES, TaskState.COMPLETE, "failure", frozenset(), frozenset(), messages, "slipway-a-1"
    )


def test_a_task_hides_the_secrets_of_its_actions_revision(tmp_path: Path) -> None:
    url = new_store(tmp_path)
    secret = document("drydock/HostProfile/v1", "guarded", {"oob": {"credential": SECRET}})
    with SiteStore.open(url) as store:
        commit_design(store, "alpha", site([node("n1"), secret], [group("all")]))
        action = store.ensure_action("deploy_site", "run", "deploy_site", "alpha", None, {}, "tester")
        real = cast(Provisioner, SimpleNamespace(task=lambda _, **__: talking_task(f"IPMI refuses {SECRET}")))
        operator = AcquireSiteOperator(task_id="acquire", kind="deploy_site")
        task = RedactingProvisioner(real, operator.redact_for(store, action)).task("t")
    assert [message.text for message in task.messages] == ["IPMI refuses ***"]


def test_secrets_that_were_stored_with_a_revision_are_not_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_store(tmp_path)
    with SiteStore.open(url) as store:
        hidden = RevisionSecrets(frozenset({SECRET}), ("exposed",))
        revision = store.commit_revision("alpha", {"design": "a: 1"}, (), "a: 1", "tester", hidden=hidden)

        def never(*_: object) -> None:
            raise AssertionError("the documents were read for their secrets")

        monkeypatch.setattr(SiteStore, "collections", never)
        assert secrets_of(store, revision, ()) == {SECRET}
        assert exposed_in(store, revision) == ["exposed"]


def test_secrets_are_those_of_the_actions_revision_or_of_the_sites_newest(tmp_path: Path) -> None:
    url = new_store(tmp_path)
    with SiteStore.open(url) as store:
        for number, secret in enumerate((SECRET, INHERITED), 1):
            hidden = RevisionSecrets(frozenset({secret}))
            store.commit_revision("alpha", {"design": f"a: {number}"}, (), f"a: {number}", "tester", hidden=hidden)
        action = store.ensure_action("deploy_site", "run", "deploy_site", "alpha", 1, {}, "tester")
        assert redact_for_action(store, action)(f"500: bad {SECRET}") == "500: bad ***"
        assert redact_for_site(store, "alpha")(f"500: bad {INHERITED}") == "500: bad ***"
        assert redact_for_site(store, "beta")("no revision, no secret") == "no revision, no secret"


def test_what_is_said_while_the_secrets_cannot_be_read_is_not_shown(tmp_path: Path) -> None:
    def nodes() -> None:
        raise ProvisionerUnavailable(f"500: bad {SECRET}", status=500)

    url = new_store(tmp_path)
    with SiteStore.open(url) as store:
        action = store.ensure_action("deploy_site", "run", "deploy_site", "alpha", 1, {}, "tester")
        real = cast(Provisioner, SimpleNamespace(nodes=nodes))
        with pytest.raises(ProvisionerUnavailable) as raised:
            RedactingProvisioner(real, redact_for_action(store, action)).nodes()
    assert (raised.value.detail, raised.value.status) == (NOT_SHOWN, 500)


@pytest.mark.parametrize("broken", [False, True])
def test_a_task_hides_what_its_rendered_design_does_not_show_to_be_secret(tmp_path: Path, broken: bool) -> None:
    labels, parts = {"labels": {"is": "base"}}, {"pattern": "(.*):(.*)", "match_group": 2}
    base_layer, layer = {"abstract": True, "layer": "global"}, {"abstract": False, "layer": "site"}
    merge = {"parentSelector": {"is": "base"}, "actions": [{"method": "merge", "path": "."}]}
    passphrase = document("deckhand/Passphrase/v1", "login", f"root:{SECRET}", storagePolicy="encrypted")
    source = {"src": {"schema": passphrase["schema"], "name": "login", "path": ".", **parts}, "dest": {"path": ".a"}}
    written = [
        passphrase,
        document(
            "a/B/v1", "base", {"b": INHERITED}, storagePolicy="encrypted", layeringDefinition=base_layer, **labels
        ),
        document("a/B/v1", "child", {"c": 1}, layeringDefinition={**layer, **merge}),
        document("a/B/v1", "taker", {}, substitutions=[source]),
    ]
    if broken:
        written[3]["metadata"]["substitutions"][0]["dest"] = {"path": "*"}
    text = yaml.safe_dump_all(written)
    rendered = yaml.safe_dump_all([document("a/B/v1", "child", {"b": INHERITED, "a": SECRET})])
    url = new_store(tmp_path)
    with SiteStore.open(url) as store:
        revision = store.commit_revision("alpha", {"design": text}, (), rendered, "tester")
        found = secrets_of(store, *read_revision(store, "alpha", revision.number))
    assert found >= {INHERITED, f"root:{SECRET}"}
    assert (SECRET in found) is not broken
