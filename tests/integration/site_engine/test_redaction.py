"""Secrets of a revision: which they are, and that they are in nothing that a task's process writes."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml

from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskMessage, TaskRef, TaskResult, TaskState
from provisioner_client.redacting import NOT_SHOWN, RedactingProvisioner
from site_engine.designs import read_revision
from site_engine.redaction import RedactedLog, exposed_in, redact_for_action, redact_for_site, secrets_of
from site_store import NewAction, NewRevision, RevisionSecrets, SiteStore
from site_store.designs.sites import Sites
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site

SECRET = "hunter2hunter2"
INHERITED = "inherited-hunter2"


def talking_task(*texts: str) -> ProvisionerTask:
    """Return a task of a provisioner that says this."""
    messages = tuple(TaskMessage(text=text, error=True, context=None, at=None) for text in texts)
    return ProvisionerTask(
        "t", "prepare_nodes", TaskState.COMPLETE, TaskResult.FAILURE, frozenset(), frozenset(), messages, "slipway-a-1"
    )


def test_a_task_hides_the_secrets_of_its_actions_revision(store: SiteStore) -> None:
    secret = document("drydock/HostProfile/v1", "guarded", {"oob": {"credential": SECRET}})
    commit_design(store, "alpha", site([node("n1"), secret], [group("all")]))
    action = store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "alpha", None, {}, "tester"))
    real = cast(Provisioner, SimpleNamespace(task=lambda _, **__: talking_task(f"IPMI refuses {SECRET}")))
    task = RedactingProvisioner(real, redact_for_action(store, action)).task(TaskRef("t"))
    assert [message.text for message in task.messages] == ["IPMI refuses ***"]


def test_secrets_that_were_stored_with_a_revision_are_not_looked_for_again(
    store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = RevisionSecrets(frozenset({SECRET}), ("exposed",))
    revision = store.revisions.commit(NewRevision("alpha", {"design": "a: 1"}, (), "a: 1", "tester", hidden=hidden))

    def never(*_: object) -> None:
        raise AssertionError("the documents were read for their secrets")

    monkeypatch.setattr(Sites, "collections", never)
    assert secrets_of(store, revision, ()) == {SECRET}
    assert exposed_in(store, revision) == ["exposed"]


def test_secrets_are_those_of_the_actions_revision_or_of_the_sites_newest(store: SiteStore) -> None:
    for number, secret in enumerate((SECRET, INHERITED), 1):
        hidden = RevisionSecrets(frozenset({secret}))
        store.revisions.commit(
            NewRevision("alpha", {"design": f"a: {number}"}, (), f"a: {number}", "tester", hidden=hidden)
        )
    action = store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "alpha", 1, {}, "tester"))
    assert redact_for_action(store, action)(f"500: bad {SECRET}") == "500: bad ***"
    assert redact_for_site(store, "alpha")(f"500: bad {INHERITED}") == "500: bad ***"
    assert redact_for_site(store, "beta")("no revision, no secret") == "no revision, no secret"


def test_what_is_said_while_the_secrets_cannot_be_read_is_not_shown(store: SiteStore) -> None:
    def nodes(_names: object) -> None:
        raise ProvisionerUnavailable(f"500: bad {SECRET}", status=500)

    action = store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "alpha", 1, {}, "tester"))
    real = cast(Provisioner, SimpleNamespace(nodes=nodes))
    with pytest.raises(ProvisionerUnavailable) as raised:
        RedactingProvisioner(real, redact_for_action(store, action)).nodes()
    assert (raised.value.detail, raised.value.status) == (NOT_SHOWN, 500)


@pytest.mark.parametrize("broken", [False, True])
def test_a_task_hides_what_its_rendered_design_does_not_show_to_be_secret(store: SiteStore, broken: bool) -> None:
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
    revision = store.revisions.commit(NewRevision("alpha", {"design": text}, (), rendered, "tester"))
    found = secrets_of(store, *read_revision(store, "alpha", revision.number))
    assert found >= {INHERITED, f"root:{SECRET}"}
    assert (SECRET in found) is not broken


SECRETS = [f"s3cret-{number:05}-hunter2" for number in range(10_000)]
KEY = '-----BEGIN "RSA" PRIVATE KEY-----\nMIIEow-the-first-line\nMIIEow-the-second-line\n'

# What Airflow's supervisor does in the process that it starts for a task, before the task's own code runs.
_PROCESS = """
import io, logging, os, sys, warnings, threading
import structlog
from airflow.sdk.log import configure_logging, reset_logging
from airflow.sdk._shared.secrets_masker import _secrets_masker

early = structlog.get_logger("early")
old = logging.getLogger("old")
reset_logging()
configure_logging(json_output=True, output=open(sys.argv[1], "wb", buffering=0), sending_to_supervisor=True)
early.info("used before the secrets are known")

from design_rendering.redaction import Redactor
from site_engine.redaction import redact_output

secrets = [f"s3cret-{number:05}-hunter2" for number in range(10_000)]
key = sys.argv[2]
redact_output(Redactor([*secrets, key, *key.splitlines()]))
secret = secrets[4711]

early.info("structured %s", secret, detail={"list": [secret]}, other=secret)
structlog.get_logger("late").warning(f"late {secret}")
old.warning("standard %s", secret)
logging.getLogger("slipway").error("as a mapping %(secret)s", {"secret": secret}, stack_info=True)
logging.getLogger("slipway").info("the whole key: %s", key)
own = logging.StreamHandler(sys.stderr)
logging.getLogger("with.a.handler").addHandler(own)
logging.getLogger("with.a.handler").warning("own handler %s", secret)
logging.getLogger("broken").warning("one argument too many", secret)
warnings.warn(f"warned {secret}")


def fail():
    try:
        raise ValueError(f"cause {secret}")
    except ValueError as cause:
        cause.add_note(f"note {secret}")
        raise RuntimeError({"why": secret}) from cause


try:
    fail()
except RuntimeError:
    structlog.get_logger("task").exception("Task failed with exception")
    logging.getLogger("slipway").exception("failed")

print("printed", secret)
print(f"in two {secret[:10]}", end="")
print(secret[10:])
print(key)
sys.stderr.write(f"to the standard error {secret}\\n")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
print(f"without an end {secret}", end="")
assert len(_secrets_masker().patterns) < 10, "Airflow's masker is spared"
"""


def test_nothing_that_a_task_says_has_a_secret_in_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS, str(log), KEY], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    logged = log.read_text()
    lines = [json.loads(line) for line in logged.splitlines()]
    told = {line["event"]: line for line in lines}
    assert told["structured ***"]["detail"] == {"list": ["***"]}
    for event in ("late ***", "standard ***", "as a mapping ***", "own handler ***", "warned ***"):
        assert event in told
    failed = told["Task failed with exception"]
    assert [one["exc_value"] for one in failed["exception"]] == ["{'why': '***'}", "cause ***"]
    for text in ("printed ***\n", "in two ***\n", "without an end ***"):
        assert text in done.stdout
    for text in ("to the standard error ***\n", "own handler ***\n"):
        assert text in done.stderr
    for said in (logged, done.stdout, done.stderr):
        assert "4711" not in said
        assert "MIIEow" not in said


def test_a_log_for_many_actions_hides_the_secrets_of_each(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log = RedactedLog(logging.getLogger("group"), lambda text: text.replace(SECRET, "***"))
    log.info("It says %s, %d%%.", SECRET, 7)
    log.warning(f"100% {SECRET}")
    log.error("%s", SECRET)

    def fail(_: str) -> str:
        raise OSError("the store is away")

    RedactedLog(logging.getLogger("group"), fail).info("It says %s.", SECRET)
    assert caplog.messages == ["It says ***, 7%.", "100% ***", "***", NOT_SHOWN]
