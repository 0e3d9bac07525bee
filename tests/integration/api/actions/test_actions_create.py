"""Creating actions: what is refused and why, and that no run is ever without its action, whatever Airflow does."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import httpx
import pytest
import yaml
from airflow.secrets.metastore import MetastoreBackend
from sqlalchemy.exc import OperationalError

from site_store import ActionState, NewRevision, SiteStore, Version
from tests.integration.api.airflow_runs import ACTIONS, DESIGN, AirflowRuns, ask, commit, create
from tests.support.lossy_proxy import LossyProxy
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

pytestmark = pytest.mark.usefixtures("dags", "connected")


def said(answer: httpx.Response) -> list[str]:
    """Return the messages of an error."""
    return [message["message"] for message in answer.json()["details"]["messageList"]]


def test_the_runs_id_begins_with_the_site_and_it_has_the_actions_parameters(
    user: httpx.Client, store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    marker = "8a4f8b0e-8f4c-4a49-9d3c-3c8b8f6f2f50"
    answer = user.post(
        ACTIONS,
        json={"name": "update_site", "parameters": {"force": "true", "target_nodes": "n1,n2"}},
        headers={"X-Context-Marker": marker},
    )
    assert answer.status_code == 201
    shown = answer.json()
    assert answer.headers["Location"] == f"/slipway/api/v1.0/actions/{shown['id']}"
    assert user.get(user.base_url.join(answer.headers["Location"])).json()["id"] == shown["id"]
    assert (len(shown["id"]), shown["name"], shown["user"], shown["context_marker"]) == (
        26,
        "update_site",
        "user",
        marker,
    )
    assert (shown["action_lifecycle"], shown["dag_status"]) == ("Pending", "SCHEDULED")
    assert (shown["committed_rev_id"], shown["site"]) == (1, "default")
    run = airflow_runs.run("update_site", shown["id"])
    assert run["state"] == "queued"
    assert run["triggering_user_name"] == "user"
    assert run["conf"] == {
        "site": "default",
        "revision": 1,
        "target_nodes": ["n1", "n2"],
        "force": True,
        "dry_run": False,
    }
    action = store.actions.get(shown["id"])
    assert (action.state, action.run_id, action.whole_site) == (ActionState.PENDING, f"default__{action.id}", False)
    assert action.connection == "slipway_provisioner"
    assert [(audit.command, audit.user) for audit in store.actions.commands(action.id)] == [("invoke", "user")]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body must be a JSON object, and is no JSON"),
        (b"[]", "the body must be a JSON object"),
        (b"{}", "the body needs a name: the kind of action, one of deploy_site"),
        (b'{"name": "deploysite"}', "there is no kind of action 'deploysite'; did you mean 'deploy_site'?"),
        (b'{"name": "deploy_site", "parameters": {"target_node": "n1"}}', "did you mean 'target_nodes'?"),
        (b'{"name": "deploy_site", "parameters": {"\\ud800": 1}}', "there is no parameter '\\ud800'"),
        (b'{"name": "\\ud800"}', "there is no kind of action '\\ud800'"),
        (b'{"name": "redeploy_server"}', "redeploy_server needs the parameter target_nodes"),
        (b'{"name": "deploy_site", "parameters": {"revision": 9}}', "has no revision 9; its newest is 1"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(user: httpx.Client, store: SiteStore, body: bytes, message: str) -> None:
    commit(store)
    answer = user.post(ACTIONS, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert message in answer.json()["message"], answer.json()["message"]
    assert store.actions.newest("default") == []


def test_a_site_needs_a_committed_revision(user: httpx.Client) -> None:
    answer = ask(user)
    assert (answer.status_code, answer.json()["retry"]) == (400, False)
    assert "has no committed revision" in answer.json()["message"]


def test_every_target_node_that_is_not_there_is_named(user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    body = {"name": "redeploy_server", "parameters": {"target_nodes": ["n1", "n22", "nowhere", "\ud800"]}}
    answer = user.post(ACTIONS, content=json.dumps(body))
    assert answer.status_code == 400
    assert said(answer) == [
        "there is no node 'n22'; did you mean 'n2'?",
        "there is no node 'nowhere'",
        "there is no node '\\ud800'",
    ]


def test_commits_that_no_action_used_are_not_skipped_unknowingly(user: httpx.Client, store: SiteStore) -> None:
    commit(store, times=3)
    answer = ask(user)
    assert (answer.status_code, answer.json()["reason"]) == (409, "Intermediate Commits")
    assert "so revisions 1, 2 were never deployed" in answer.json()["message"]
    created = create(user, query="?allow-intermediate-commits=True")
    assert created["allow_intermediate_commits"] is True
    assert created["parameters"] == {}
    store.locks.acquire(created["id"])
    store.actions.close(created["id"], ActionState.FAILED, "critical group control failed")
    assert store.sites.version_number("default", Version.LAST_SITE_ACTION) == 3
    commit(store, times=1)
    assert create(user, query="?allow-intermediate-commits=False")["committed_rev_id"] == 4


def test_one_action_at_a_time_on_a_site_and_the_other_is_named(
    user: httpx.Client, admin: httpx.Client, store: SiteStore
) -> None:
    commit(store)
    commit(store, "other")
    first = create(user)
    answer = ask(admin, "update_site")
    assert (answer.status_code, answer.json()["retry"]) == (409, True)
    (message,) = answer.json()["details"]["messageList"]
    assert message["action"] == {"id": first["id"], "name": "deploy_site", "user": "user", "state": "pending"}
    assert f"action {first['id']} (deploy_site, by user, pending)" in answer.json()["message"]
    create(admin, query="?site=other")
    create(admin, dry_run="true")


def test_of_many_who_ask_at_once_one_gets_the_site(user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: ask(user), range(6)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409, 409]
    (winner,) = (answer.json()["id"] for answer in answers if answer.status_code == 201)
    assert all(
        answer.json()["details"]["messageList"][0]["action"]["id"] == winner
        for answer in answers
        if answer.status_code == 409
    )
    assert [listing.action.id for listing in store.actions.newest("default")] == [winner]


def test_an_action_whose_run_is_over_does_not_hold_the_site(
    user: httpx.Client, store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    first = create(user)
    airflow_runs.end("deploy_site", first["id"])
    second = create(user)
    assert store.actions.get(first["id"]).state is ActionState.CANCELLED
    assert store.actions.get(second["id"]).state is ActionState.PENDING


BROKEN = DESIGN.replace("minimum_successful_nodes: 2", "minimum_successful_nodes: many")


def test_a_revision_that_is_not_valid_is_refused_with_all_it_says(user: httpx.Client, store: SiteStore) -> None:
    store.revisions.commit(NewRevision("default", {"design": BROKEN}, [], None, "tester", forced=True))
    answer = ask(user)
    assert answer.status_code == 400
    assert any("minimum_successful_nodes" in message for message in said(answer))
    assert "or name another revision" in answer.json()["message"]
    assert "continue-on-fail" not in answer.json()["message"], "its groups cannot be read"
    assert store.actions.newest("default") == []
    created = create(user, **{"continue-on-fail": "true"})
    assert created["warnings"]
    assert not any(message["error"] for message in created["warnings"])
    (event,) = (event for event in store.events.of_action(created["id"]) if event.kind == "overridden")
    assert "started by user in spite of" in event.message
    assert event.data["messages"]


def test_a_revision_that_can_be_read_may_be_used_in_spite_of_its_errors(user: httpx.Client, store: SiteStore) -> None:
    commit_design(store, "default", site([node("n1", profile="missing")], [group("control", ["n1"])]))
    answer = ask(user)
    assert answer.status_code == 400
    assert "repeat this with the parameter continue-on-fail=true (--continue-on-fail)" in answer.json()["message"]
    create(user, **{"continue-on-fail": "true"})


def test_no_action_goes_by_a_revision_that_shows_a_secret(user: httpx.Client, store: SiteStore) -> None:
    secret = "correct horse battery staple"
    passphrase = document("deckhand/Passphrase/v1", "ipmi", secret, storagePolicy="encrypted")
    design = list(yaml.safe_load_all(site([node("n1"), passphrase], [group("one", ["n1"])])))
    (strategy,) = (one for one in design if one["schema"] == "shipyard/DeploymentStrategy/v1")
    source = {"schema": passphrase["schema"], "name": "ipmi", "path": "."}
    strategy["metadata"]["substitutions"] = [{"src": source, "dest": {"path": ".groups[0].name"}}]
    commit_design(store, "default", yaml.safe_dump_all(design))
    answer = ask(user, force="true", **{"continue-on-fail": "true"})
    assert (answer.status_code, answer.json()["reason"]) == (400, "Secrets")
    assert "revision 1 of site default shows secrets" in answer.json()["message"]
    assert secret not in answer.text
    assert store.actions.newest("default") == []


def test_a_critical_group_is_not_taken_below_its_criteria(
    user: httpx.Client, store: SiteStore, connected: Simulator
) -> None:
    commit(store)
    connected.read(DESIGN, "n1", "n2", "n3")
    answer = ask(user, "redeploy_server", target_nodes="n2")
    assert (answer.status_code, answer.json()["reason"]) == (409, "Critical Groups")
    assert said(answer) == ["critical group control would fall short: minimum_successful_nodes needs 2, 1 would be"]
    assert ask(user, "destroy_nodes", target_nodes="n2").status_code == 409
    assert store.actions.newest("default") == []
    forced = create(user, "redeploy_server", target_nodes="n2", force="true")
    (warned,) = (message for message in forced["warnings"] if message["name"] == "CriticalGroups")
    assert warned["level"] == "Warning"
    assert any(event.kind == "overridden" for event in store.events.of_action(forced["id"]))


@pytest.mark.parametrize(
    "parameters", [("deploy_site", {}), ("destroy_nodes", {"target_nodes": "n2", "force": "true"})]
)
def test_a_site_whose_connection_cannot_be_looked_up_is_not_given_to_another_provisioner(
    user: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch, parameters: tuple[str, dict[str, str]]
) -> None:
    """That of all sites is known from the environment; the site's own would be in the database."""
    commit(store)

    def fail(*_: object, **__: object) -> NoReturn:
        raise OperationalError("SELECT", {}, Exception("the database system is starting up"))

    monkeypatch.setattr(MetastoreBackend, "get_connection", fail)
    kind, more = parameters
    answer = ask(user, kind, **{"continue-on-fail": "true"}, **more)
    assert (answer.status_code, answer.json()["retry"]) == (503, True)
    assert (
        "whether there is an Airflow connection 'slipway_provisioner_default' is not known" in answer.json()["message"]
    )
    assert store.actions.newest("default") == []


def test_what_the_provisioner_does_not_say_is_never_taken_for_nothing(
    user: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(store)
    monkeypatch.setenv(
        "AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps({"conn_type": "drydock", "host": "http://127.0.0.1:9"})
    )
    # The provisioner's part of the validation may be passed over; the look at what is deployed may not.
    answer = ask(user, "redeploy_server", target_nodes="n2", **{"continue-on-fail": "true"})
    assert (answer.status_code, answer.json()["retry"]) == (503, True)
    assert store.actions.newest("default") == []


def test_a_run_whose_answer_was_lost_is_found(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    proxy.lose("POST", "answer")
    created = create(user)
    assert airflow_runs.state("deploy_site", created["id"]) == "queued"
    assert [method for method, _ in proxy.requests] == ["GET", "POST", "GET"], "the DAG, the run, and the run again"


def test_nothing_waits_behind_a_dag_that_is_switched_off(
    user: httpx.Client, store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    airflow_runs.switch("deploy_site", on=False)
    try:
        answer = ask(user)
        create(user, "update_site", dry_run="true")
    finally:
        airflow_runs.switch("deploy_site", on=True)
    assert (answer.status_code, answer.json()["reason"]) == (409, "Switched off in Airflow")
    assert "the DAG deploy_site is switched off (paused) in Airflow" in answer.json()["message"]
    assert [listing.action.kind for listing in store.actions.newest("default")] == ["update_site"]
    create(user)


def test_an_airflow_that_goes_on_failing_leaves_a_pending_action(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy
) -> None:
    commit(store)
    proxy.lose("POST", "failure", times=4)
    answer = ask(user)
    assert (answer.status_code, answer.json()["retry"]) == (503, True)
    (listing,) = store.actions.newest("default")
    assert listing.action.state is ActionState.PENDING
    assert [method for method, _ in proxy.requests] == ["GET"] + ["POST"] * 4 + ["GET"]


def test_a_start_that_is_not_known_leaves_a_pending_action_and_no_second_one(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy
) -> None:
    commit(store)
    proxy.lose("POST", "answer")
    proxy.lose("GET", "request", times=2)
    answer = ask(user)
    assert (answer.status_code, answer.json()["retry"]) == (503, True)
    (listing,) = store.actions.newest("default")
    assert listing.action.id in answer.json()["message"]
    assert listing.action.state is ActionState.PENDING
    again = ask(user)
    assert again.status_code == 409
    assert again.json()["details"]["messageList"][0]["action"]["id"] == listing.action.id


def test_a_request_that_was_lost_is_not_taken_for_refused(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    proxy.lose("POST", "request")
    answer = ask(user)
    assert (answer.status_code, answer.json()["retry"]) == (503, True)
    (listing,) = store.actions.newest("default")
    assert listing.action.state is ActionState.PENDING
    assert airflow_runs.state("deploy_site", listing.action.id) is None


def test_what_airflow_refuses_is_passed_on_and_the_action_is_closed(
    user: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    commit(store)
    # As with an auth manager whose rights change between our question and Airflow's.
    monkeypatch.setattr("slipway_api.http.airflow_access.token_of", lambda _: "no token at all")
    answer = ask(user)
    assert answer.status_code in (401, 403)
    (listing,) = store.actions.newest("default")
    assert listing.action.state is ActionState.FAILED
    assert listing.action.verdict is not None
    assert "Airflow refused to start it" in listing.action.verdict
