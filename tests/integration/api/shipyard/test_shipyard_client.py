"""Every command of Airship's own client, unmodified: what it sends is taken, what it reads is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import yaml

from site_store import SiteStore
from tests.integration.api.airflow_runs import DESIGN, AirflowRuns, plan, run_of
from tests.integration.api.conftest import PASSWORD
from tests.integration.api.shipyard.shipyard_client import (
    Refused,
    ShipyardClient,
    action_row,
    collection_rows,
    detail_row,
    note_rows,
    shown,
    status_row,
    status_rows,
    step_row,
    workflow_row,
)

pytestmark = pytest.mark.usefixtures("dags", "connected")

DOCUMENTS = list(yaml.safe_load_all(DESIGN))
# A site comes in several collections: nodes here, all else there.
NODES = [document for document in DOCUMENTS if "Baremetal" in document["schema"]]
REST = [document for document in DOCUMENTS if document not in NODES]
MARKER = "8a4f8b0e-8f4c-4a49-9d3c-3c8b8f6f2f50"


@pytest.fixture(scope="session")
def login(origin: str) -> Callable[..., ShipyardClient]:
    """Return a function that logs a user in, as `OS_*` variables do."""

    def login(user: str = "user", **options: Any) -> ShipyardClient:
        return ShipyardClient(f"{origin}/slipway/v3", user, PASSWORD, **options)

    return login


@pytest.fixture(scope="session")
def session_client(login: Callable[..., ShipyardClient]) -> ShipyardClient:
    """Log in once: Keystone's part has tests of its own."""
    return login()


@pytest.fixture
def client(session_client: ShipyardClient) -> ShipyardClient:
    """Who may trigger DAGs."""
    return session_client


@pytest.fixture
def committed(client: ShipyardClient) -> ShipyardClient:
    """Commit a site first."""
    client.create_configdocs("design", DOCUMENTS)
    client.commit_configdocs()
    return client


@pytest.fixture
def action(committed: ShipyardClient) -> str:
    """Create an action; return its id."""
    return str(committed.create_action("deploy_site").json()["id"])


def refused(status: int) -> AbstractContextManager[pytest.ExceptionInfo[Refused]]:
    """Expect that the client gives up with a body that it can print."""
    return pytest.raises(Refused, match=f"^{status}: ")


def test_create_configdocs_append_replace_and_reject(client: ShipyardClient) -> None:
    first = client.create_configdocs("nodes", NODES)
    assert (first.status_code, first.headers["Content-Type"]) == (201, "application/json")
    assert status_row(first.json())[:2] == ("Validations succeeded", "Validation")
    with refused(409) as rejected:
        client.create_configdocs("rest", REST)
    assert status_row(rejected.value.body)[2]
    assert client.create_configdocs("rest", REST, "append").status_code == 201
    with refused(409):
        client.create_configdocs("rest", REST[:1], "append")
    assert client.create_configdocs("design", DOCUMENTS, "replace").status_code == 201
    rows = collection_rows(client.get_configdocs().json())
    assert rows == [("design", "not present", "created", "committed", None, "buffer", 1)]


def test_create_configdocs_with_an_empty_collection_or_none(client: ShipyardClient) -> None:
    client.create_configdocs("design", DOCUMENTS)
    client.create_configdocs("more", [{**NODES[0], "metadata": {**NODES[0]["metadata"], "name": "n4"}}], "append")
    client.commit_configdocs()
    assert client.create_configdocs("more", [], empty=True).status_code == 201
    client.commit_configdocs()
    assert client.get_collection("more", "committed").status_code == 404
    with refused(400):
        client.create_configdocs("more", [])


def test_commit_configdocs_dryrun_force_and_nothing_to_commit(client: ShipyardClient) -> None:
    with refused(409) as empty:
        client.commit_configdocs()
    assert empty.value.body["retry"] is True
    client.create_configdocs("design", DOCUMENTS)
    tried = client.commit_configdocs(dryrun=True)
    assert (tried.status_code, status_row(tried.json())[0]) == (200, "Validations succeeded DRYRUN")
    assert client.get_collection("design", "committed").status_code == 404
    done = client.commit_configdocs()
    assert (done.status_code, status_row(done.json())[0]) == (200, "Validations succeeded")
    assert collection_rows(client.get_configdocs().json())[0][:3] == ("design", "present", "unmodified")


def test_commit_configdocs_of_what_is_not_valid(client: ShipyardClient) -> None:
    broken = [document for document in DOCUMENTS if "DeploymentStrategy" not in document["schema"]]
    client.create_configdocs("design", broken)
    with refused(400) as rejected:
        client.commit_configdocs()
    message, reason, rows = status_row(rejected.value.body)
    assert (message, reason) == ("Validations failed", "Validation")
    assert any(level == "Error" and "deployment-strategy" in text for level, _, text, *_ in rows)
    forced = client.commit_configdocs(force=True)
    assert forced.status_code == 200
    assert status_row(forced.json())[0].endswith(" FORCED SUCCESS")


def test_get_configdocs_and_renderedconfigdocs(client: ShipyardClient) -> None:
    client.create_configdocs("design", DOCUMENTS)
    for version in ("buffer", "committed"):
        for answer in (client.get_collection("design", version), client.get_rendered(version)):
            assert answer.status_code == 200
            assert "yaml" in answer.headers["Content-Type"]
            assert list(yaml.safe_load_all(answer.content)) == DOCUMENTS
            assert shown(answer)
        if version == "buffer":
            client.commit_configdocs()
    assert client.get_collection("design", "buffer").status_code == 404


def test_get_configdocs_of_the_buffer_has_only_what_was_put_into_it(committed: ShipyardClient) -> None:
    committed.create_configdocs("more", [{**NODES[0], "metadata": {**NODES[0]["metadata"], "name": "n4"}}])
    assert committed.get_collection("more", "buffer").status_code == 200
    carried = committed.get_collection("design", "buffer")
    assert (carried.status_code, committed.get_collection("design", "committed").status_code) == (404, 200)
    assert status_row(carried.json())[0] == (
        "the buffer of site default does not have collection 'design': it is as in version committed"
    )
    committed.create_configdocs("design", [], "append", empty=True)
    assert committed.get_collection("design", "buffer").status_code == 404


def test_get_configdocs_of_versions_that_are_not_there(committed: ShipyardClient) -> None:
    for answer in (
        committed.get_configdocs(["committed", "last_site_action"]),
        committed.get_collection("design", "successful_site_action"),
        committed.get_collection("nothing", "committed"),
        committed.get_rendered("last_site_action"),
    ):
        assert answer.status_code == 404
        assert status_row(answer.json())[2]


def test_cleartext_secrets_are_for_those_who_may_read_connections(
    committed: ShipyardClient, login: Callable[..., ShipyardClient]
) -> None:
    with refused(403):
        committed.get_collection("design", "committed", cleartext=True)
    assert login("op").get_rendered("committed", cleartext=True).status_code == 200


def test_create_action_and_get_actions(committed: ShipyardClient) -> None:
    assert shown(committed.get_actions()) == "[]"
    answer = committed.create_action("deploy_site", {"continue-on-fail": "true"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (201, "application/json")
    created = action_row(answer.json())
    assert (created[0], created[2], created[4]) == ("deploy_site", "Pending", "0/0/0")
    listed = [action_row(one) for one in sorted(committed.get_actions().json(), key=lambda one: one["id"])]
    assert listed == [(*created[:4], "0/0/9", [])]
    with refused(409) as busy:
        committed.create_action("update_site")
    assert created[1].removeprefix("action/") in status_row(busy.value.body)[0]


@pytest.mark.parametrize(
    ("name", "parameters", "status"),
    [
        ("redeploy_server", {}, 400),
        ("redeploy_server", {"target_nodes": "n9"}, 400),
        ("redeploy_server", {"target_nodes": "n3"}, 201),
        ("update_software", {}, 400),
        ("deploy_site", {"release": "glance"}, 400),
        ("update_site", {}, 201),
        ("relabel_nodes", {"target_nodes": "n1,n2"}, 201),
    ],
)
def test_create_action_of_every_kind(
    committed: ShipyardClient, name: str, parameters: dict[str, str], status: int
) -> None:
    if status == 201:
        assert committed.create_action(name, parameters).status_code == 201
        return
    with refused(status) as rejected:
        committed.create_action(name, parameters)
    assert status_row(rejected.value.body)[2]


def test_intermediate_commits(committed: ShipyardClient) -> None:
    committed.create_configdocs("design", [*DOCUMENTS[:-1], DOCUMENTS[-1] | {"data": {}}])
    committed.commit_configdocs(force=True)
    with refused(409):
        committed.create_action("deploy_site")
    allowed = committed.create_action("deploy_site", {"continue-on-fail": "true"}, allow_intermediate=True)
    assert allowed.status_code == 201


def test_describe_action(client: ShipyardClient, login: Callable[..., ShipyardClient], action: str) -> None:
    answer = client.describe_action(action)
    assert answer.headers["Content-Type"] == "application/json"
    facts, steps, commands, validations, _ = detail_row(answer.json())
    assert facts[:4] == ("deploy_site", action, "Pending", {})
    assert [step[1] for step in steps] == list(range(1, 10))
    assert [command[:2] for command in commands] == [("invoke", "user")]
    assert validations == []
    marked = login(marker=MARKER, verbosity=5)
    assert detail_row(marked.describe_action(action).json())[0][1] == action
    assert client.describe_action("01ARZ3NDEKTSV4RRFFQ69G5FAV").status_code == 404


def test_the_context_marker_is_kept(committed: ShipyardClient, login: Callable[..., ShipyardClient]) -> None:
    created = login(marker=MARKER).create_action("deploy_site").json()
    assert created["context_marker"] == MARKER
    assert re.fullmatch("[0-9A-Za-z]{26}", created["id"])


# Airflow's own reader of logs leaves its file to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_describe_step_and_its_logs(client: ShipyardClient, action: str, airflow_runs: AirflowRuns) -> None:
    step = step_row(client.describe_step(action, "acquire").json())
    assert step[:3] == ("acquire", 1, None)
    assert client.describe_step(action, "armada_build").status_code == 404
    assert client.logs_step(action, "acquire").status_code == 404
    airflow_runs.begin(action, "acquire", "success")
    line = '{"timestamp": "2026-03-01T12:00:00Z", "level": "info", "event": "Site default is held by this action."}\n'
    airflow_runs.write_log("deploy_site", action, "acquire", line)
    for answer in (client.logs_step(action, "acquire"), client.logs_step(action, "acquire", "1")):
        assert answer.status_code == 200
        assert "Site default is held by this action." in answer.text
        assert shown(answer).endswith(answer.text), "a log is no YAML, and is not to be read as such"
        assert answer.headers["Content-Type"].startswith("text/plain;")


def test_describe_validation(client: ShipyardClient, action: str) -> None:
    answer = client.describe_validation(action, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert answer.status_code == 404
    assert status_row(answer.json())[2]


def test_describe_notedetails(client: ShipyardClient, store: SiteStore, action: str) -> None:
    store.events.add("default", "remark", "the fans are loud", action_id=action, data={"rpm": 9000})
    notes = client.describe_action(action).json()["notes"]
    note = next(note for note in notes if note["note_val"] == "the fans are loud")
    assert note_rows([note])[0][3:] == ("the fans are loud", f"Details at notedetails/{note['note_id']}")
    # The client refuses ids of another length before it asks.
    assert re.fullmatch("[0-9A-Za-z]{26}", note["note_id"])
    details = client.describe_notedetails(note["note_id"])
    assert details.status_code == 200
    assert "9000" in details.text
    assert shown(details).endswith(details.text)
    assert client.describe_notedetails("9" * 26).status_code == 404


def test_workflows(client: ShipyardClient, action: str) -> None:
    for since in (None, "2026-01-01T00:00:00Z"):
        listed = client.get_workflows(since)
        assert listed.status_code == 200
        (workflow,) = (one for one in listed.json() if one["run_id"] == run_of(action))
        # The client takes an id apart, and refuses any other form.
        assert re.fullmatch(r"deploy_site__\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", workflow["workflow_id"])
        assert workflow["state"] == "queued"
    described = workflow_row(client.describe_workflow(workflow["workflow_id"]).json())
    assert described[:3] == (workflow["workflow_id"], "queued", "deploy_site")
    assert "begin_action" in dict(described[7])


def test_site_statuses(committed: ShipyardClient) -> None:
    everything = status_rows(committed.get_site_statuses().json())
    assert everything.keys() == {"nodes_provision_status", "machines_powerstate"}
    assert [row[0] for row in everything["nodes_provision_status"]] == ["n1", "n2", "n3"]
    one = status_rows(committed.get_site_statuses("machines-power-state").json())
    assert one == {"machines_powerstate": everything["machines_powerstate"]}
    both = committed.get_site_statuses("nodes-provision-status", "machines-power-state")
    assert status_rows(both.json()) == everything
    assert committed.get_site_statuses("fans").status_code == 400


def test_pause_unpause_and_stop(client: ShipyardClient, store: SiteStore, action: str) -> None:
    plan(store, action)
    for verb, lifecycle in (("pause", "Paused"), ("unpause", "Processing"), ("stop", "Processing")):
        answer = client.control(action, verb)
        assert (answer.status_code, answer.text) == (202, "")
        assert shown(answer) == ""
        assert detail_row(client.describe_action(action).json())[0][2] == lifecycle
    commands = [command[0] for command in detail_row(client.describe_action(action).json())[2]]
    assert commands == ["invoke", "pause", "unpause", "stop"]
    with refused(409) as early:
        client.control(action, "unpause")
    assert status_row(early.value.body)[:2] == (
        "dag_run state must be paused, but is running",
        "Unable to unpause action",
    )
