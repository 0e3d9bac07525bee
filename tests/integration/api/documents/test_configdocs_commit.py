"""Commits: what is judged, what is stored, and what becomes of two at once."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from api_client.slipway import UNCHANGED
from provisioner_client.protocol import ListedNode
from site_engine.designs import ADDRESSES, INGESTER, REFUSAL_STAYS
from site_engine.node_lists import keep_list
from site_store import SiteStore
from site_store.sql import sealing
from slipway_api.documents import provisioner_check
from slipway_api.documents.validation import READ_ONCE, SMALL
from slipway_api.http import dependencies
from strategy_lib.node_condition import NodeCondition
from tests.integration.site_store.designs.test_secret_texts import dumped
from tests.support.configdocs import API, assert_failure, commit, committed, put, said
from tests.support.file_server import FileServer
from tests.support.revisions import plain_digests
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

NODES = [node("n1"), node("n2")]
GROUPS = [group("all", percent_successful_nodes=50)]
DESIGN = site(NODES, GROUPS)
NETWORK = yaml.safe_dump(document("drydock/Network/v1", "storage", {}))
BAD = site(NODES, [group("all", after=["ghost"]), group("spare", ["nobody"])])


def test_a_good_commit(connected: Simulator, user: httpx.Client, viewer: httpx.Client, store: SiteStore) -> None:
    put(user, f"# as written\n{DESIGN}")
    put(user, NETWORK, "networks", buffermode="append")
    answer = user.post(f"{API}/commitconfigdocs?verbosity=1&force=False&dryrun=False")
    body = answer.json()
    assert answer.status_code == 200, body
    assert answer.headers["Content-Type"] == "application/json"
    assert (body["status"], body["message"], body["code"]) == ("Success", "Validations succeeded", "200 OK")
    assert (body["kind"], body["reason"], body["revision"], body["forced"]) == ("Status", "Validation", 1, False)
    assert body["details"]["errorCount"] == 0
    assert body["details"]["messageList"] == [], "not that each of Drydock's checks succeeded"
    assert answer.headers["ETag"] == '"3"'
    revision = store.revisions.get("default")
    assert (revision.number, revision.created_by, revision.forced, revision.problems) == (1, "user", False, ())
    assert revision.text is not None
    assert revision.collections.keys() == {"site", "networks"}
    assert store.buffers.get("default").is_empty
    assert viewer.get(f"{API}/configdocs/site?version=committed").text == f"# as written\n{DESIGN}"


def test_a_large_collection_that_was_just_put_is_not_read_once_more(connected: Simulator, user: httpx.Client) -> None:
    large = f"{DESIGN}---\n{NETWORK}# {'-' * SMALL}\n"
    put(user, large)
    kept = READ_ONCE.read("site", large)
    assert READ_ONCE.read("site", large)[0] is kept[0]
    assert commit(user).status_code == 200
    assert READ_ONCE.read("site", large)[0] is not kept[0], "what is committed is not kept"


def test_an_empty_buffer_cannot_be_committed(user: httpx.Client) -> None:
    answer = commit(user)
    assert_failure(answer, 409)
    assert answer.json()["retry"] is True


def test_errors_refuse_and_store_nothing(connected: Simulator, user: httpx.Client, store: SiteStore) -> None:
    put(user, BAD)
    answer = commit(user)
    body = answer.json()
    assert answer.status_code == 400
    assert (body["kind"], body["status"], body["code"]) == ("Status", "Failure", "400 Bad Request")
    assert (body["message"], body["reason"], body["retry"]) == ("Validations failed", "Validation", False)
    errors = [message for message in body["details"]["messageList"] if message["error"]]
    assert body["details"]["errorCount"] == len(errors) == 1
    (error,) = errors
    assert "there is no group 'ghost'" in error["message"]
    assert error["documents"] == [{"schema": "shipyard/DeploymentStrategy/v1", "name": "deployment-strategy"}]
    assert (error["level"], error["collection"], error["source"]) == ("Error", "site", "Slipway")
    assert "ghost" in BAD.splitlines()[error["line"] - 1]
    assert store.revisions.newest("default") == []
    assert answer.headers["ETag"] == '"1"'
    assert not store.buffers.get("default").is_empty


def test_an_address_that_no_node_is_asked_at_is_refused_unless_the_installation_names_its_network(
    connected: Simulator, user: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = list(yaml.safe_load_all(DESIGN))
    changed = next(one for one in documents if one["schema"] == "drydock/BaremetalNode/v1")
    changed["data"].update(primary_network="loop", addressing=[{"network": "loop", "address": "127.0.0.1"}])
    documents.append(document("drydock/Network/v1", "loop", {"cidr": "127.0.0.0/8"}))
    states = {"health_url": "http://{address:loop}:9650/state"}
    documents.append(document("slipway/SiteSettings/v1", "settings", {"node_states": states}))
    put(user, yaml.safe_dump_all(documents))
    answer = commit(user)
    assert answer.status_code == 400
    (error,) = (one for one in answer.json()["details"]["messageList"] if one["error"] and one["source"] == "Slipway")
    assert (error["path"], error["documents"][0]["name"]) == ("$.data.addressing[0].address", "n1")
    assert "127.0.0.1 is a loopback address, where nodes are not asked" in error["message"]
    monkeypatch.setenv("SLIPWAY_NODE_NETWORKS", "127.0.0.0/8")
    assert commit(user).status_code == 200


def test_the_provisioner_is_asked_too_and_all_is_told_at_once(connected: Simulator, user: httpx.Client) -> None:
    put(user, site([node("n3", profile="ghost"), *NODES], [{"name": "b"}]))
    answer = commit(user)
    assert answer.status_code == 400
    found = answer.json()["details"]["messageList"]
    by_drydock = [message for message in found if message["source"] == "Drydock"]
    error, note = by_drydock
    assert (error["documents"], error["name"]) == ([], "ValidateDesign"), "it names no node"
    assert error["message"] == "Error loading effective site: HostProfile ghost not found in design state"
    assert (note["message"], note["level"]) == (REFUSAL_STAYS, "Info")
    assert any("critical is missing" in text for text in said(answer))


def test_a_dry_run_never_commits(connected: Simulator, user: httpx.Client, store: SiteStore) -> None:
    put(user, DESIGN)
    for query in ({"dryrun": "true"}, {"dryrun": "True", "force": "True"}):
        answer = commit(user, **query)
        body = answer.json()
        assert answer.status_code == 200
        assert (body["status"], body["message"]) == ("Success", "Validations succeeded DRYRUN")
        assert "revision" not in body
    put(user, BAD, buffermode="replace")
    answer = commit(user, dryrun="true", force="true")
    body = answer.json()
    assert (answer.status_code, body["code"]) == (200, "200 OK")
    assert (body["status"], body["message"]) == ("Failure", "Validations failed DRYRUN")
    assert body["details"]["errorCount"] == 1
    assert store.revisions.newest("default") == []


def test_a_forced_commit_records_who_forced_what(connected: Simulator, user: httpx.Client, store: SiteStore) -> None:
    put(user, BAD)
    answer = commit(user, force="true")
    body = answer.json()
    assert answer.status_code == 200
    assert (body["status"], body["message"], body["forced"]) == ("Success", "Validations failed FORCED SUCCESS", True)
    assert body["details"]["errorCount"] == 1
    assert (body["deployable"], body["intermediate_commits"]) == (False, []), "its groups cannot be read"
    shown = user.get(f"{API}/revisions/1").json()
    assert (shown["user"], shown["forced"]) == ("user", True)
    (problem,) = shown["problems"]
    assert "there is no group 'ghost'" in problem
    assert store.revisions.get("default").text is not None


def test_force_without_errors_forces_nothing(connected: Simulator, user: httpx.Client) -> None:
    put(user, DESIGN)
    answer = commit(user, force="true")
    assert (answer.json()["forced"], answer.json()["message"]) == (False, "Validations succeeded")


def test_without_a_provisioner_nothing_is_known_to_be_right(user: httpx.Client, store: SiteStore) -> None:
    put(user, DESIGN)
    answer = commit(user)
    assert answer.status_code == 400
    (error,) = said(answer)
    assert "create an Airflow connection 'slipway_provisioner_default' or 'slipway_provisioner'" in error
    assert "force the commit" in error
    forced = commit(user, force="true")
    assert (forced.status_code, forced.json()["deployable"]) == (200, True)
    assert store.revisions.get("default").forced


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch, connected: Simulator, origin: str) -> Iterator[FileServer]:
    """Stand between the provisioner and Slipway's route for designs."""
    with FileServer(upstream=origin) as server:
        settings = {"conn_type": "drydock", "host": connected.url, "extra": {"design_base_url": server.url}}
        monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(settings))
        yield server


def test_a_commit_survives_a_503_in_the_very_fetch_of_its_design(between: FileServer, user: httpx.Client) -> None:
    between.refuse(503, b'{"detail": "no worker is free"}')
    put(user, DESIGN)
    answer = commit(user)
    assert (answer.status_code, answer.json()["status"]) == (200, "Success"), answer.text
    assert len(between.asked) == 2


def test_a_provisioner_that_sees_no_nodes_refuses_the_commit_and_its_ingester_is_named(
    between: FileServer, user: httpx.Client
) -> None:
    between.refuse(200, b"{}", count=ADDRESSES)
    put(user, DESIGN)
    answer = commit(user)
    (error,) = said(answer)
    assert (answer.status_code, INGESTER in error) == (400, True)
    assert between.asked[0].partition("?")[0] == between.asked[-1].partition("?")[0], "one token"
    assert max(map(len, between.asked)) + len(between.url) <= 128


@pytest.fixture
def silent_provisioner(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connect the server to a provisioner that takes requests and does not answer in time."""
    released = threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            released.wait(30)
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    settings = {"conn_type": "drydock", "host": url, "extra": {"read_timeout": 60}}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(settings))
    yield
    released.set()
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("silent_provisioner")
def test_a_provisioner_that_does_not_answer_is_an_error(
    user: httpx.Client, viewer: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provisioner_check, "PATIENCE", 0.2)
    put(user, DESIGN)
    (error,) = said(commit(user))
    assert "did not check the design: it has not answered for 0 s" in error


def test_secrets_are_in_no_message(connected: Simulator, user: httpx.Client) -> None:
    password = "correct-horse-battery"
    secret = document("deckhand/Passphrase/v1", "ipmi", password, storagePolicy="encrypted")
    strange = node("n9")
    strange["data"]["metadata"]["tags"] = {"oob": {"credential": password}}
    groups = [group("all", percent_successful_nodes=50) | {"critical": password}]
    answer = put(user, site([strange], groups) + "---\n" + yaml.safe_dump(secret))
    assert answer.status_code == 201
    answer = commit(user)
    assert answer.status_code == 400
    assert password not in answer.text
    assert "***" in answer.text


def test_a_secret_cannot_become_the_name_of_a_group(connected: Simulator, user: httpx.Client) -> None:
    secret = document("deckhand/Passphrase/v1", "ipmi", "root:hunter2-hunter2", storagePolicy="encrypted")
    source = {"schema": secret["schema"], "name": "ipmi", "path": ".", "pattern": ":(.*)", "match_group": 1}
    design = list(yaml.safe_load_all(site(NODES, [group("all", ["nobody"])])))
    (strategy,) = (one for one in design if one["schema"] == "shipyard/DeploymentStrategy/v1")
    strategy["metadata"]["substitutions"] = [{"src": source, "dest": {"path": ".groups[0].name"}}]
    put(user, yaml.safe_dump_all([*design, secret]))
    answer = commit(user)
    assert answer.status_code == 400
    errors = [one for one in answer.json()["details"]["messageList"] if one["error"]]
    assert [(one["path"], one["text"]) for one in errors if "everybody" in one["text"]] == [
        ("$.data.groups[0].name", "groups and settings are shown to everybody: write it in plain")
    ]
    assert "hunter2-hunter2" not in answer.text, "also not what a warning says of the group"


def test_a_design_that_is_judged_can_be_fetched_only_meanwhile(
    connected: Simulator, user: httpx.Client, anonymous: httpx.Client, store: SiteStore
) -> None:
    number = committed(user, DESIGN)
    revision = store.revisions.get("default", number)
    answer = anonymous.get(f"/d/{store.secret_texts.token_of(revision.design_handle)}")
    assert (answer.status_code, answer.text) == (200, revision.text)
    assert answer.headers["Content-Type"] == "application/x-yaml"
    put(user, BAD)
    commit(user)
    fetched = connected.get("state")["designs"]
    assert len(fetched) == 2
    for reference in fetched:
        assert httpx.get(reference).status_code == 404
    assert anonymous.get("/d/nonsense").status_code == 404


def test_a_commit_that_is_overtaken(
    connected: Simulator, user: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody posts to the buffer while a commit of it is being judged."""
    asked = provisioner_check.ask

    def interrupted(*given: Any, **more: Any) -> Any:
        put(user, NETWORK, "late", buffermode="append")
        return asked(*given, **more)

    monkeypatch.setattr(provisioner_check, "ask", interrupted)
    put(user, DESIGN)
    answer = commit(user)
    assert_failure(answer, 409)
    assert answer.json()["retry"] is True
    assert answer.headers["ETag"] == '"2"'
    user.delete(f"{API}/configdocs")
    tag = put(user, DESIGN).headers["ETag"]
    assert_failure(commit(user, tag=tag), 412)
    assert store.revisions.newest("default") == []
    assert sorted(store.buffers.get("default").posted) == ["late", "site"]


@pytest.mark.usefixtures("dags")
@pytest.mark.parametrize("number", [2, 12])
def test_what_comes_next_leaves_no_node_alone_that_the_commit_has_changed(
    connected: Simulator, user: httpx.Client, store: SiteStore, number: int
) -> None:
    names = [f"n{place:02}" for place in range(number)]
    design = site([node(name) for name in names], [group("all")])
    put(user, design)
    assert commit(user).json()["next"] == {"name": "deploy_site", "parameters": {}, "why": ""}
    listed = {name: ListedNode(name, NodeCondition.DEPLOYED, "Deployed", "on") for name in names}
    keep_list(store, "default", "slipway_provisioner", listed)
    store.wishes.adopt("default", names, "tester")
    put(user, design.replace("cidr: 10.0.0.0/24", "cidr: 10.0.0.0/23"))
    step = commit(user).json()["next"]
    needed = {"allow_redeploy": True} | ({"many_redeploys": True} if number > 5 else {})
    assert (step["name"], step["parameters"]) == ("update_site", needed)
    assert f"{number} nodes are deployed otherwise than wanted, and left alone without allow_redeploy" in step["why"]
    asked = {"name": step["name"], "parameters": step["parameters"]}
    planned = user.post(f"{API}/actions/plan", json=asked)
    assert planned.status_code == 200, planned.text
    assert planned.json()["erased"] == names
    shown = user.get("/ui/sites/default/plan").text
    flags = " ".join(f"--{name.replace('_', '-')}" for name in needed)
    assert f"slipway create action update_site --site default {flags} --follow" in shown
    form = user.get("/ui/sites/default/start/update_site?next=yes").text
    assert ('name="allow_redeploy" value="true" checked' in form, step["why"] in form) == (True, True)


SECRET = document("deckhand/Passphrase/v1", "pass", "correct-horse-77")
SECRET["metadata"]["storagePolicy"] = "encrypted"


def _open_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the API server open its store again, as after a start."""
    monkeypatch.setattr(dependencies, "_stores", {})


def test_without_a_key_of_the_store_documents_with_secrets_are_refused_and_others_are_not(
    connected: Simulator, user: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLIPWAY_STORE_KEYS_FILE")
    monkeypatch.setattr(sealing, "_handed", [])
    _open_anew(monkeypatch)
    refused = put(user, json.dumps(SECRET), "secrets")
    assert_failure(refused, 400)
    assert "collection 'secrets' is refused: it holds secrets" in refused.text
    assert "set SLIPWAY_STORE_KEYS_FILE to a file with a Fernet key" in refused.text
    assert committed(user, DESIGN) == 1


def test_a_collection_with_secrets_that_is_there_already_is_refused_with_a_reason_that_programs_know(
    connected: Simulator, user: httpx.Client
) -> None:
    text = f"{DESIGN}---\n{json.dumps(SECRET)}\n"
    assert committed(user, text) == 1
    again = put(user, text)
    assert_failure(again, 400)
    assert "there is nothing to change" in again.text
    assert again.json()["reason"] == UNCHANGED


def test_a_wrong_key_of_the_store_is_a_503_with_the_fingerprints(
    connected: Simulator, user: httpx.Client, store: SiteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert committed(user, f"{DESIGN}---\n{json.dumps(SECRET)}\n") == 1
    (wanted,) = store.secret_texts.fingerprints()
    other = tmp_path / "keys"
    other.touch(mode=0o600)
    other.write_bytes(base64.urlsafe_b64encode(b"x" * 32))
    monkeypatch.setenv("SLIPWAY_STORE_KEYS_FILE", str(other))
    _open_anew(monkeypatch)
    for path in ("configdocs/site?version=committed", "renderedconfigdocs?version=committed"):
        answer = user.get(f"{API}/{path}")
        assert_failure(answer, 503)
        assert f"it is encrypted with the key of fingerprint {wanted}, and this process has " in answer.text
    assert put(user, json.dumps(SECRET), "more").status_code == 503, "nobody can tell whether it has this already"
    assert user.get(f"{API}/revisions").status_code == 200


def test_rule_62_no_row_has_a_digest_by_which_a_secret_can_be_guessed(
    connected: Simulator, user: httpx.Client, store: SiteStore, store_url: str
) -> None:
    into = {"src": {"schema": SECRET["schema"], "name": "pass", "path": "."}, "dest": {"path": ".assets[0].data"}}
    action = document("drydock/BootAction/v1", "login", {"assets": [{"path": "/x", "data": ""}]}, substitutions=[into])
    text = DESIGN + yaml.safe_dump_all([SECRET, action], explicit_start=True)
    assert committed(user, text) == 1
    rendered = store.revisions.get("default").text or ""
    assert rendered.count("correct-horse-77") == 2
    guessable = plain_digests(rendered)
    assert len(guessable) > 10
    assert [(table, one) for table, row in dumped(store_url) for one in guessable if one in row] == []
    # Committed again, nothing differs: no object has a new version, and none is judged anew.
    objects = store.objects.page("default", 100)
    assert {one.policed for one in objects} == {(1, objects[0].policed[1] if objects[0].policed else "")}
    assert committed(user, text + "# the same\n") == 2
    assert store.objects.page("default", 100) == objects
    assert {(one.wanted_version, one.wanted_revision) for one in store.nodes.of_site("default")} == {(1, 1)}
