"""Collections on their way into the buffer, and read from it."""

from __future__ import annotations

import httpx
import pytest
import yaml

from site_store import NewRevision, SiteStore
from tests.support.configdocs import API, assert_failure, put, said
from tests.support.sites import document, group, node, site

DESIGN = site([node("n1"), node("n2")], [group("all", percent_successful_nodes=50)])
NETWORK = "# the network\n" + yaml.safe_dump(document("drydock/Network/v1", "oob", {"cidr": "10.0.0.0/24"}))


def test_a_collection_goes_into_the_buffer(user: httpx.Client, store: SiteStore) -> None:
    answer = put(user, NETWORK, "networks")
    assert answer.status_code == 201
    assert answer.headers["Location"] == "/slipway/api/v1.0/configdocs/networks"
    body = answer.json()
    assert {key: body[key] for key in ("kind", "apiVersion", "status", "message", "reason", "code")} == {
        "kind": "Status",
        "apiVersion": "v1.0",
        "status": "Success",
        "message": "Validations succeeded",
        "reason": "Validation",
        "code": "201 Created",
    }
    assert body["details"] == {"errorCount": 0, "messageList": []}
    assert body["buffer"] == {"version": 1, "base_revision": None, "collections": ["networks"], "discarded": []}
    assert answer.headers["ETag"] == '"1"'
    held = store.buffers.get("default")
    assert held.posted["networks"].text == NETWORK
    assert held.changed_by == "user"


def test_it_is_read_as_it_was_written(user: httpx.Client, viewer: httpx.Client) -> None:
    put(user, NETWORK, "networks")
    for query in ({}, {"version": "buffer"}, {"version": "buffer", "cleartext-secrets": "False"}):
        answer = viewer.get(f"{API}/configdocs/networks", params=query)
        assert (answer.status_code, answer.text) == (200, NETWORK)
        assert answer.headers["Content-Type"] == "application/x-yaml"
        assert answer.headers["ETag"] == '"1"'


@pytest.mark.parametrize("site_name", ["default", "berlin"])
def test_its_location_leads_to_it(user: httpx.Client, site_name: str) -> None:
    location = put(user, NETWORK, "networks", site=site_name).headers["Location"]
    answer = user.get(user.base_url.join(location))
    assert (answer.status_code, answer.text) == (200, NETWORK)


@pytest.mark.parametrize("content_type", ["application/x-yaml", "text/plain", "application/json", None])
def test_the_content_type_makes_no_difference(user: httpx.Client, content_type: str | None) -> None:
    request = user.build_request("POST", f"{API}/configdocs/networks", content=NETWORK)
    if content_type:
        request.headers["Content-Type"] = content_type
    assert user.send(request).status_code == 201


def test_the_buffer_modes(user: httpx.Client, store: SiteStore) -> None:
    other = yaml.safe_dump(document("drydock/Network/v1", "mgmt", {}))
    assert put(user, NETWORK, "a").status_code == 201
    refused = put(user, other, "b")
    assert refused.status_code == 409
    assert "it holds a" in refused.json()["message"]
    assert put(user, other, "b", buffermode="append").status_code == 201
    refused = put(user, f"{other}# again\n", "b", buffermode="APPEND")
    assert refused.status_code == 409
    assert "'b' is in the buffer" in refused.json()["message"]
    assert "(--renew) puts this one in its place, replace (--replace) also discards a" in refused.json()["message"]
    answer = put(user, other, "c", buffermode="Replace")
    assert answer.status_code == 201
    assert answer.json()["buffer"] == {
        "version": 3,
        "base_revision": None,
        "collections": ["c"],
        "discarded": ["a", "b"],
    }
    assert said(answer, "Warning") == ["discarded from the buffer of site default, by the buffer mode replace: a, b"]
    assert answer.json()["details"]["errorCount"] == 0
    assert put(user, f"{other}# again\n", "c", buffermode="replace").json()["buffer"]["discarded"] == []
    assert sorted(store.buffers.get("default").posted) == ["c"]


@pytest.mark.parametrize("full", [True, False])
def test_an_unknown_buffer_mode_is_refused_whatever_is_in_the_buffer(user: httpx.Client, full: bool) -> None:
    if full:
        put(user, NETWORK, "a")
    answer = put(user, NETWORK, "b", buffermode="rejectcontents")
    assert_failure(answer, 400)
    assert "use rejectoncontents, append, renew, replace" in answer.json()["message"]


def test_a_document_lives_in_one_collection(user: httpx.Client) -> None:
    put(user, NETWORK, "a")
    answer = put(user, NETWORK, "b", buffermode="append")
    assert_failure(answer, 409)
    (message,) = answer.json()["details"]["messageList"]
    assert message["message"] == "drydock/Network/v1 'oob' of layer 'site' is in collection 'a' already"
    assert message["documents"] == [{"schema": "drydock/Network/v1", "name": "oob"}]
    assert message["collection"] == "a"


def test_without_a_body(user: httpx.Client) -> None:
    for content in (b"", None):
        answer = user.post(f"{API}/configdocs/a", content=content)
        assert_failure(answer, 400)
        assert "empty-collection=true" in answer.json()["message"]
    for comment in ("# nothing\n", "---\n---\n", "null\n"):
        answer = put(user, comment)
        assert_failure(answer, 400)
    assert user.get(f"{API}/configdocs").json() == []


def test_taking_a_collection_away(user: httpx.Client, store: SiteStore) -> None:
    refused = put(user, NETWORK, empty_collection="true")
    assert_failure(refused, 400)
    store.revisions.commit(NewRevision("default", {"a": NETWORK}, [], NETWORK, "tester"))
    answer = put(user, "", "a", empty_collection="True")
    assert answer.status_code == 201
    (entry,) = user.get(f"{API}/configdocs").json()
    assert (entry["base_status"], entry["new_status"]) == ("present", "deleted")
    assert user.get(f"{API}/configdocs/a", params={"version": "committed"}).text == NETWORK
    gone = user.get(f"{API}/configdocs/a", params={"version": "buffer"})
    assert_failure(gone, 404)
    assert "no collection 'a'" in gone.json()["message"]


def test_all_problems_of_a_text_are_told_with_their_lines(user: httpx.Client) -> None:
    text = "schema: a/B/v1\n---\n- list\n---\nschema: drydock/HostProfile/v1\nmetadata: {name: x, name: y}\n---\n{{{\n"
    answer = put(user, text, "broken")
    assert_failure(answer, 400)
    found = answer.json()["details"]["messageList"]
    assert {(message["collection"], message["line"]) for message in found} >= {
        ("broken", 1),
        ("broken", 3),
        ("broken", 6),
        ("broken", 9),
    }
    assert answer.json()["details"]["errorCount"] == len(found)


@pytest.mark.parametrize("name", [".hidden", "-x", "a b", "a%2Fb", "x" * 65, "ä"])
def test_names_of_collections(user: httpx.Client, name: str) -> None:
    assert put(user, NETWORK, name).status_code in (400, 404)


def test_discarding_the_buffer(user: httpx.Client, store: SiteStore) -> None:
    put(user, NETWORK)
    answer = user.delete(f"{API}/configdocs")
    assert (answer.status_code, answer.content, answer.headers["ETag"]) == (204, b"", '"2"')
    assert store.buffers.get("default").is_empty
    assert user.delete(f"{API}/configdocs").headers["ETag"] == '"2"'


def test_versions_of_collections(user: httpx.Client, store: SiteStore) -> None:
    store.revisions.commit(NewRevision("default", {"same": NETWORK, "old": "a", "gone": "b"}, [], "x", "tester"))
    put(user, DESIGN, "old")
    put(user, "", "gone", empty_collection="true", buffermode="append")
    put(user, yaml.safe_dump(document("x/New/v1", "new", {})), "new", buffermode="append")
    expected = {"gone": "deleted", "new": "created", "old": "modified", "same": "unmodified"}
    for query in (
        "",
        "?versions=committed&versions=buffer",
        "?versions=buffer&versions=committed",
        "?versions=committed,buffer",
        "?verbosity=1&versions=buffer,committed",
    ):
        answer = user.get(f"{API}/configdocs{query}")
        assert answer.status_code == 200
        shown = answer.json()
        assert {entry["collection_name"]: entry["new_status"] for entry in shown} == expected
        assert {entry["collection_name"]: entry["base_status"] for entry in shown} == {
            "gone": "present",
            "new": "not present",
            "old": "present",
            "same": "present",
        }
        for entry in shown:
            assert (entry["base_version"], entry["base_revision"]) == ("committed", 1)
            assert (entry["new_version"], entry["new_revision"]) == ("buffer", 2)


def test_versions_that_never_were(user: httpx.Client) -> None:
    assert user.get(f"{API}/configdocs").json() == []
    put(user, NETWORK)
    (entry,) = user.get(f"{API}/configdocs").json()
    assert (entry["base_revision"], entry["base_status"], entry["new_status"]) == (None, "not present", "created")
    for query in ("versions=committed,last_site_action", "versions=successful_site_action&versions=buffer"):
        assert_failure(user.get(f"{API}/configdocs?{query}"), 404)
    for version in ("committed", "last_site_action", "successful_site_action", "7"):
        assert_failure(user.get(f"{API}/configdocs/site", params={"version": version}), 404)
    assert_failure(user.get(f"{API}/configdocs/site", params={"version": "commited"}), 400)


def test_an_empty_buffer_is_no_version_to_read(user: httpx.Client, store: SiteStore) -> None:
    store.revisions.commit(NewRevision("default", {"a": NETWORK}, [], NETWORK, "tester"))
    answer = user.get(f"{API}/configdocs/a")
    assert_failure(answer, 404)
    assert "its buffer is empty" in answer.json()["message"]
    (entry,) = user.get(f"{API}/configdocs").json()
    assert (entry["new_status"], entry["new_revision"]) == ("unmodified", 1)


SECRET = yaml.safe_dump(document("deckhand/Passphrase/v1", "ipmi", "hunter2-hunter2", storagePolicy="encrypted"))


def test_secrets_are_shown_only_to_those_who_may_see_them(op: httpx.Client, user: httpx.Client) -> None:
    text = f"{NETWORK}---\n{SECRET}"
    put(user, text, "secrets")
    shown = user.get(f"{API}/configdocs/secrets")
    assert "hunter2" not in shown.text
    assert "[redacted]" in shown.text
    assert "# the network" in shown.text
    path = f"{API}/configdocs/secrets?cleartext-secrets=true"
    assert_failure(user.get(path), 403)
    assert op.get(path).text == text


def test_what_was_read_without_secrets_is_not_put_back(user: httpx.Client) -> None:
    put(user, SECRET, "secrets")
    shown = user.get(f"{API}/configdocs/secrets").text
    answer = put(user, shown, "secrets", buffermode="replace")
    assert_failure(answer, 400)
    assert "stands for a secret that was left out" in said(answer)[0]
    assert answer.json()["details"]["messageList"][0]["path"] == "$.data"
