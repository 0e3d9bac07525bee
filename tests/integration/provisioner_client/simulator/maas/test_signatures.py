"""API keys, signatures, bodies and the two forms of an operation: what MAAS takes, and how it refuses."""

from __future__ import annotations

import time
from urllib.parse import urlencode

import pytest

from tests.support.maas_calls import FORM, MaasCaller, signature


def test_version_is_open_to_all(maas: MaasCaller) -> None:
    answer = maas.raw("GET", "version/")
    assert set(answer.data) == {"version", "subversion", "capabilities"}


def test_without_a_signature_machines_are_400_and_the_rest_401(maas: MaasCaller) -> None:
    answer = maas.raw("GET", "machines/")
    assert (answer.status, answer.text) == (400, "Unrecognised signature: method=GET op=None")
    assert maas.raw("GET", "tags/").status == 401
    assert maas.raw("GET", "machines/", authorization="Basic x").status == 400


@pytest.mark.parametrize(
    ("key", "changes", "status", "said"),
    [
        ("x:demo-token:demo-secret", {}, 401, "Invalid API key"),
        ("demo-consumer:x:demo-secret", {}, 401, "Invalid access token"),
        ("demo-consumer:demo-token:demo-secret", {"timestamp": str(int(time.time()) - 400)}, 401, "Expired timestamp"),
        ("demo-consumer:demo-token:demo-secret", {"timestamp": "noon"}, 400, "timestamp"),
        ("demo-consumer:demo-token:demo-secret", {"signature_method": "HMAC-SHA1"}, 401, "HMAC-SHA1"),
    ],
)
def test_a_wrong_signature(maas: MaasCaller, key: str, changes: dict[str, str], status: int, said: str) -> None:
    answer = maas.raw("GET", "users/", "op=whoami", authorization=signature(key, **changes))
    assert answer.status == status
    assert said in answer.text
    assert answer.content_type.startswith("text/plain")


def test_a_401_may_hold_the_right_secret(maas: MaasCaller) -> None:
    answer = maas.raw("GET", "users/", "op=whoami", authorization=signature("a:a:wrong"))
    assert answer.status == 401
    assert "&a" in answer.text


def test_a_nonce_is_taken_once(maas: MaasCaller) -> None:
    signed = signature(nonce="once")
    assert maas.raw("GET", "users/", "op=whoami", authorization=signed).status == 200
    answer = maas.raw("GET", "users/", "op=whoami", authorization=signed)
    assert (answer.status, "Nonce already used: once" in answer.text) == (401, True)


@pytest.mark.parametrize("form", ["path", "path without a slash", "query", "body"])
def test_the_forms_of_an_operation(maas: MaasCaller, form: str) -> None:
    system_id = maas.machine("m0001")["system_id"]
    paths = {
        "path": f"machines/{system_id}/op-commission/",
        "path without a slash": f"machines/{system_id}/op-commission",
    }
    query = "op=commission" if form == "query" else ""
    body = b"op=commission" if form == "body" else b""
    path = paths.get(form, f"machines/{system_id}/")
    answer = maas.raw("POST", path, query, body, authorization=signature(), content_type=FORM)
    assert answer.data["status_name"] == "Commissioning"


def test_an_operation_that_there_is_not_and_a_path_that_there_is_not(maas: MaasCaller) -> None:
    answer = maas.raw("POST", "machines/", "op=explode", authorization=signature())
    assert (answer.status, answer.text) == (400, "Unrecognised signature: method=POST op=explode")
    assert maas.raw("GET", "nowhere/", authorization=signature()).status == 404
    one = f"machines/{maas.machine('m0001')['system_id']}/op-explode"
    answer = maas.raw("POST", one, authorization=signature())
    assert (answer.status, answer.text) == (404, f"Unknown API endpoint: /MAAS/api/2.0/{one}.")
    answer = maas.raw("DELETE", "machines/", authorization=signature())
    assert (answer.status, answer.body) == (405, b"")


def test_json_is_ignored(maas: MaasCaller) -> None:
    maas.act("m0001", "commission", testing_scripts="none")
    ready = maas.wait("m0001", "Ready")
    path = f"machines/{ready['system_id']}/op-deploy"
    body = b'{"distro_series": "noble", "comment": "lost"}'
    answer = maas.raw("POST", path, "", body, authorization=signature(), content_type="application/json")
    assert (answer.data["status_name"], answer.data["distro_series"]) == ("Deploying", "jammy")
    assert ("User starting deployment", "(slipway)") in maas.ledger("m0001")
    path = f"machines/{ready['system_id']}/op-set_workload_annotations"
    answer = maas.raw("POST", path, "", b'{"a": "b"}', authorization=signature(), content_type="application/json")
    assert (answer.status, maas.machine("m0001")["workload_annotations"]) == (200, {})
    answer = maas.raw("POST", "machines/", "op=allocate", b"{}", authorization=signature(), content_type="text/json")
    assert answer.data["hostname"].startswith("composed"), "it asked for nothing"


def test_multipart_needs_its_boundary(maas: MaasCaller) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nfrom-a-form\r\n--x--\r\n'
    signed = {"authorization": signature(), "content_type": "multipart/form-data"}
    assert maas.raw("POST", "tags/", "", body, **signed).status == 500
    signed = {"authorization": signature(), "content_type": "multipart/form-data; boundary=x"}
    assert maas.raw("POST", "tags/", "", body, **signed).data["name"] == "from-a-form"


def test_an_address_may_not_be_too_long(maas: MaasCaller) -> None:
    hundred = [("hostname", f"a-name-of-some-forty-letters-as-sites-have{n:03}") for n in range(100)]
    assert maas.raw("GET", "machines/", urlencode(hundred), authorization=signature()).data == []
    assert maas.raw("GET", "machines/", urlencode(hundred * 2), authorization=signature()).status == 414
