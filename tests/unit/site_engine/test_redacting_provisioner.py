"""What a provisioner says goes into logs, events and reports: it repeats no secret of the design."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from design_rendering.redaction import Redactor
from provisioner_client.errors import ProvisionerRefused, ProvisionerUnavailable
from provisioner_client.protocol import (
    DesignMessage,
    DesignValidation,
    Provisioner,
    ProvisionerTask,
    TaskAction,
    TaskMessage,
    TaskState,
)
from site_engine.redacting_provisioner import RedactingProvisioner
from site_engine.revision_documents import exposed_in, read_revision, secrets_of
from site_store import RevisionSecrets, SiteStore
from slipway_airflow.operators.acquire import AcquireSiteOperator
from slipway_airflow.triggers import without_secrets
from strategy_lib.outcome import Evidence
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site
from tests.support.stores import new_store

SECRET = "hunter2hunter2"
INHERITED = "inherited-hunter2"


def discreet(**methods: Any) -> RedactingProvisioner:
    """Return a discreet provisioner around one that has these methods."""
    return RedactingProvisioner(cast(Provisioner, SimpleNamespace(**methods)), lambda: Redactor({SECRET}))


def talking_task(*texts: str) -> ProvisionerTask:
    """Return a task of a provisioner that says this."""
    messages = tuple(TaskMessage(text=text, error=True, context=None, at=None) for text in texts)
    state = TaskState.COMPLETE
    return ProvisionerTask(
        "t", TaskAction.PREPARE_NODES, state, "failure", frozenset(), frozenset(), messages, "slipway-a-1"
    )


def test_tasks_and_evidence() -> None:
    said = discreet(
        task=lambda _, **__: talking_task(f"bad {SECRET}"),
        find=lambda _: talking_task(f"worse {SECRET}"),
        evidence=lambda *_, **__: Evidence(over=True, messages={"n1": f"IPMI refuses {SECRET}"}),
    )
    found = said.find("r")
    assert [message.text for message in said.task("t").messages] == ["bad ***"]
    assert found is not None
    assert [message.text for message in found.messages] == ["worse ***"]
    assert said.evidence("t", ["n1"]).messages == {"n1": "IPMI refuses ***"}


def test_remarks_on_a_design() -> None:
    remarks = DesignValidation(False, (DesignMessage("Error", f"{SECRET} is too short", ()),))
    assert discreet(validate_design=lambda _: remarks).validate_design("d").messages[0].text == "*** is too short"


def test_errors_and_what_they_were_raised_from() -> None:
    def nodes() -> None:
        try:
            raise ProvisionerRefused(f"inner {SECRET}")
        except ProvisionerRefused as refusal:
            raise ProvisionerUnavailable(f"outer {SECRET}", status=500) from refusal

    with pytest.raises(ProvisionerUnavailable) as raised:
        discreet(nodes=nodes).nodes()
    assert SECRET not in f"{raised.value} {raised.value!r} {raised.value.__cause__!r}"
    assert (raised.value.detail, raised.value.status) == ("outer ***", 500)


def test_the_design_is_read_only_when_there_are_words_to_look_through() -> None:
    def never() -> Redactor:
        raise AssertionError("read for nothing")

    quiet = SimpleNamespace(
        task=lambda _, **__: talking_task(), evidence=lambda *_, **__: Evidence(over=False), nodes=dict
    )
    silent = RedactingProvisioner(cast(Provisioner, quiet), never)
    assert silent.task("t").messages == ()
    assert silent.evidence("t", []).messages == {}
    assert silent.nodes() == {}


def test_a_task_hides_the_secrets_of_its_actions_revision(tmp_path: Path) -> None:
    url = new_store(tmp_path)
    secret = document("drydock/HostProfile/v1", "guarded", {"oob": {"credential": SECRET}})
    with SiteStore.open(url) as store:
        commit_design(store, "alpha", site([node("n1"), secret], [group("all")]))
        action = store.ensure_action("deploy_site", "run", "deploy_site", "alpha", None, {}, "tester")
        real = cast(Provisioner, SimpleNamespace(task=lambda _, **__: talking_task(f"IPMI refuses {SECRET}")))
        operator = AcquireSiteOperator(task_id="acquire", kind="deploy_site")
        task = operator.discreet(real, store, action).task("t")
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


def test_the_triggerer_repeats_no_secret_of_an_answer(tmp_path: Path) -> None:
    url = new_store(tmp_path)
    with SiteStore.open(url) as store:
        hidden = RevisionSecrets(frozenset({SECRET}))
        store.commit_revision("alpha", {"design": "a: 1"}, (), "a: 1", "tester", hidden=hidden)
        action = store.ensure_action("deploy_site", "run", "deploy_site", "alpha", 1, {}, "tester")
        assert without_secrets(f"500: bad {SECRET}", store, action.id) == "500: bad ***"
        assert SECRET not in without_secrets(f"500: bad {SECRET}", store, "no-such-action")


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
