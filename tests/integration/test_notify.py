"""The DAG `notify`: one of Airflow's notifiers sends what stands in the outbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from airflow.sdk import BaseNotifier

from site_store import ActionState, NewAction, NewRevision, SiteStore
from tests.support.dag_runs import Runs

if TYPE_CHECKING:
    from airflow.sdk import Context

FILE = "SLIPWAY_TEST_NOTIFIED"


class FileNotifier(BaseNotifier):
    """Writes what it is told to a file."""

    template_fields = ("text",)

    def __init__(self, *, file: str, text: str) -> None:
        super().__init__()
        self.file, self.text = file, text

    def notify(self, context: Context) -> None:
        """Write it."""
        with Path(self.file).open("a") as file:
            file.write(json.dumps(self.text) + "\n")


def written(store: SiteStore, notifier: dict[str, Any]) -> str:
    """Write a notification to a site with this notifier; return its id."""
    targets = {"targets": [{"name": "file", "notifier": notifier}]}
    store.revisions.commit(NewRevision("alpha", {"a": "a: 1\n"}, [], "a: 1\n", "ann", notifications=targets))
    action = store.actions.ensure("deploy_site", "run-1", NewAction("deploy_site", "alpha", 1, {}, "ann"))
    store.actions.close(action.id, ActionState.FAILED, "{{ conn.slipway_provisioner.host }} failed")
    return store.outbox.newest("alpha")[0].event_id


def test_a_notifier_sends_it_and_takes_nothing_for_a_template(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLIPWAY_NOTIFIERS", f"file={__name__}:FileNotifier")
    file = tmp_path / "notified"
    with SiteStore.open() as store:
        event_id = written(store, {"name": "file", "arguments": {"file": str(file), "text": "{text}"}})
    state, _ = runs.run("notify", event_id=event_id, target="file")
    assert state == "success"
    (line,) = file.read_text().splitlines()
    assert "deploy_site is failed: {{ conn.slipway_provisioner.host }} failed" in json.loads(line)


@pytest.mark.endurance
def test_a_notifier_that_nobody_has_listed_is_a_failure(runs: Runs) -> None:
    with SiteStore.open() as store:
        event_id = written(store, {"name": "subprocess:run"})
    state, _ = runs.run("notify", event_id=event_id, target="file")
    assert state == "failed"
