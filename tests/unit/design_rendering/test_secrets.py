"""Secrets: which parts of a design they are, where they go when it is rendered, and showing it without them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from design_rendering.reading.documents import Document, load_documents
from design_rendering.redaction import PLACEHOLDER, is_secret, redacted, redacted_text, secret_values
from design_rendering.rendering import design_text, render
from tests.support.designs import action, child, documents, layered, parent, rendering, substitution

PASSPHRASE = "deckhand/Passphrase/v1"
SECRET_KEYS = f"""\
password, ipmi_password, credential, Credentials, passphrase, client-secret, private_key, privateKey, token, authToken,
crypt, crypt_password, psk, api_key, encryption_keys, {"x" * 500}_password,
passwords, db_passwords, secrets, tokens, passphrases, password1, password_2, rootpassword, passwordHash,
password_hash, passwd_encrypted, root_password_crypted, pass1, rootpw, bmc_pw, community, snmp_community_string,
tls_key, ssl-key, cert_key, certificateKey, server_key, client_key, ca_key, signing_key, TLSKey, APIKey, tlskey,
ipmi.password, tls.key, root password, IPMI Password, private key"""
OPEN_KEYS = """
authorized_keys account public_key keys key tokens_per_second passthrough bypass compass ssh_key host_key monkey
secret_name secretName tls_secret_name token_ttl tokenExpiry token.ttl password_policy password_min_length turkey
passphrase_length password_file credential_type keystone key_name sort_key community_string_name communities crypto
tls_key_path server_keys_dir cert ca_cert cakey_count pw_length secretary"""


def passphrase(name: str = "pw", value: Any = "hunter2", **metadata: Any) -> dict[str, Any]:
    return layered(name, "site", value, schema=PASSPHRASE, **{"storagePolicy": "encrypted", **metadata})


def secret_paths(*design: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {one.document.name: one.secret_paths for one in rendering(*design).documents if one.secret_paths}


def shown(value: Any, **metadata: Any) -> Any:
    (document,) = documents(layered("d", "site", value, schema="drydock/HostProfile/v1", **metadata))
    before = copy.deepcopy(document.data)
    result = redacted(document).data
    assert document.data == before
    return result


@pytest.mark.parametrize(
    ("schema", "policy", "secret"),
    [
        ("a/B/v1", "encrypted", True),
        ("a/B/v1", "cleartext", False),
        ("deckhand/Passphrase/v1", "cleartext", True),
        ("deckhand/CertificateKey/v1", "cleartext", True),
        ("deckhand/Certificate/v1", "cleartext", False),
        ("deckhand/PublicKey/v1", "cleartext", False),
    ],
)
def test_secret_documents(schema: str, policy: str, secret: bool) -> None:
    (document,) = documents(layered("d", "site", {"a": "b"}, schema=schema, storagePolicy=policy))
    assert is_secret(document) is secret
    assert redacted(document).data == (PLACEHOLDER if secret else {"a": "b"})
    assert (redacted(document) is document) is not secret


@pytest.mark.parametrize("key", SECRET_KEYS.replace("\n", " ").split(", "))
def test_credential_fields(key: str) -> None:
    assert shown({"oob": {key: "hunter2", "type": "ipmi"}}) == {"oob": {key: PLACEHOLDER, "type": "ipmi"}}
    assert shown([{key: 12345}]) == [{key: PLACEHOLDER}]
    assert shown({key: {"any": ["thing"]}}) == {key: PLACEHOLDER}


@pytest.mark.parametrize("key", OPEN_KEYS.split())
def test_fields_that_are_no_credentials(key: str) -> None:
    assert shown({key: "value"}) == {key: "value"}


@pytest.mark.parametrize("value", [True, False, None, "", [], {}])
def test_switches_and_empty_values_are_no_secrets(value: Any) -> None:
    assert shown({"password": value}) == {"password": value}


@pytest.mark.parametrize(
    "value",
    ["-----BEGIN RSA PRIVATE KEY-----\nabc\n", "cat <<E\n-----BEGIN PRIVATE KEY-----", "http://me:hunter2@host/x"],
)
def test_texts_that_give_themselves_away(value: str) -> None:
    assert shown({"assets": [{"data": value}]}) == {"assets": [{"data": PLACEHOLDER}]}
    assert shown(value) == PLACEHOLDER


@pytest.mark.parametrize("value", ["-----BEGIN PUBLIC KEY-----", "http://host:80/a@b", "a://b", "http://host/x:y@z"])
def test_texts_that_hold_no_secret(value: str) -> None:
    assert shown({"a": value}) == {"a": value}


def test_shared_parts_stay_shared_so_that_small_texts_stay_small() -> None:
    text = "schema: a/B/v1\nmetadata: {name: n}\ndata:\n  a0: &a0 {password: x}\n"
    text += "".join(f"  a{n}: &a{n} {{l: *a{n - 1}, r: *a{n - 1}}}\n" for n in range(1, 18))
    (document,) = load_documents(text)
    made = redacted(document).data
    assert made["a17"]["l"]["r"] == made["a16"]["l"]
    assert made["a17"]["l"] is made["a17"]["r"] is made["a16"]
    assert made["a0"] == {"password": PLACEHOLDER}
    assert document.data["a0"] == {"password": "x"}


def test_paths_of_further_secrets() -> None:
    (document,) = documents(layered("d", "site", {"a": [{"b": "x"}, {"b": "y"}], "odd key": "z"}))
    made = redacted(document, ("$.data.a[1].b", "$.data['odd key']", "$.data.not.there")).data
    assert made == {"a": [{"b": "x"}, {"b": PLACEHOLDER}], "odd key": PLACEHOLDER}
    assert redacted(document, ("$.data",)).data == PLACEHOLDER


def test_a_value_from_a_secret_is_secret_where_it_goes() -> None:
    source = passphrase("tls", {"key": {"pem": "k"}, "cert": "c"})
    made = secret_paths(
        source,
        layered("whole", "site", {}, substitutions=[substitution("tls", ".", ".tls.all", schema=PASSPHRASE)]),
        layered("part", "site", {}, substitutions=[substitution("tls", ".key.pem", ".a[0]", schema=PASSPHRASE)]),
        layered(
            "text",
            "site",
            {"url": "http://u:PW@h"},
            substitutions=[substitution("tls", ".cert", {"path": ".url", "pattern": "PW"}, schema=PASSPHRASE)],
        ),
        layered("second", "site", {}, substitutions=[substitution("whole", ".tls", ".x")]),
        layered("deeper", "site", {}, substitutions=[substitution("whole", ".tls.all.cert", ".y")]),
        layered("beside", "site", {}, substitutions=[substitution("part", ".", ".z")]),
    )
    assert made == {
        "whole": ("$.data.tls.all",),
        "part": ("$.data.a[0]",),
        "text": ("$.data.url",),
        "second": ("$.data.x.all",),
        "deeper": ("$.data.y",),
        "beside": ("$.data.z.a[0]",),
    }


def test_a_credential_field_stays_secret_under_another_key() -> None:
    source = layered("profile", "site", {"oob": {"credential": "x", "account": "root"}})
    taken = [substitution("profile", ".oob.credential", ".a"), substitution("profile", ".oob.account", ".b")]
    assert secret_paths(source, layered("c", "site", {}, substitutions=taken)) == {"c": ("$.data.a",)}


def inherited(own: Any, *actions: dict[str, str]) -> tuple[str, ...]:
    """Return the secret paths of the child of a parent with secrets at .s, .m.s and .l[1]."""
    dests = [{"path": ".s"}, {"path": ".m.s"}, {"path": ".l[1]"}]
    above = parent({"m": {"k": 1}, "l": [0, 0, 0]}, substitutions=[substitution("pw", ".", dests, schema=PASSPHRASE)])
    return secret_paths(passphrase(), above, child("c", own, *actions)).get("c", ())


@pytest.mark.parametrize(
    ("own", "actions", "expected"),
    [
        ({}, [], {"$.data.s", "$.data.m.s", "$.data.l[1]"}),
        ({"m": {"other": 1}}, [], {"$.data.s", "$.data.m.s", "$.data.l[1]"}),
        ({"m": {"s": "own"}}, [], {"$.data.s", "$.data.l[1]"}),
        ({"m": "own", "l": []}, [], {"$.data.s"}),
        ({"m": {"own": 1}}, [action("replace", ".m")], {"$.data.s", "$.data.l[1]"}),
        ({"m": {"s": "own"}}, [action("merge", ".m")], {"$.data.s", "$.data.l[1]"}),
        ({"own": 1}, [action("replace", ".")], set()),
        ({}, [action("delete", ".")], set()),
        ({}, [action("delete", ".s")], {"$.data.m.s", "$.data.l[1]"}),
        ({}, [action("delete", ".m.k")], {"$.data.s", "$.data.m.s", "$.data.l[1]"}),
        # The secret has moved up in the list.
        ({}, [action("delete", ".l[0]")], {"$.data.s", "$.data.m.s", "$.data.l"}),
    ],
)
def test_secrets_are_inherited(own: Any, actions: list[dict[str, str]], expected: set[str]) -> None:
    assert set(inherited(own, *actions)) == expected


def test_all_that_comes_from_an_encrypted_parent_is_secret() -> None:
    above = parent({"a": 1}, storagePolicy="encrypted")
    assert secret_paths(above, child("c", {"b": 1})) == {"c": ("$.data",)}
    assert secret_paths(above, child("c", {"b": 1}, action("replace", "."))) == {}


def test_a_secret_that_is_put_over_is_secret_no_more() -> None:
    puts = [
        substitution("pw", ".", ".a.b", schema=PASSPHRASE),
        substitution("open", ".", ".a"),
        substitution("pw", ".", ".c", schema=PASSPHRASE),
    ]
    made = secret_paths(passphrase(), layered("open", "site", {"b": 1}), layered("c", "site", {}, substitutions=puts))
    assert made == {"c": ("$.data.c",)}


TEXT = """\
# The head
---
# Before the first
schema: a/B/v1   # open
metadata: {name: open}
data:
  a: 1  # kept
# After the first
---
schema: deckhand/Passphrase/v1
metadata:
  name: pw  # lost
  storagePolicy: encrypted
data: hunter2 # lost too
# lost as well: it may be about the secret
---
{schema: a/B/v1, metadata: {name: flow}, data: {password: hunter2}} # behind
--- {schema: a/B/v1, metadata: {name: same line}, data: {password: hunter2}}
---
  schema: a/B/v1
  metadata: {name: indented}
  data: {password: hunter2}
---
schema: a/B/v1
metadata: {name: last}
data: {b: 2} # kept"""


def test_a_text_without_its_secrets_keeps_all_else_as_it_is_written() -> None:
    read = load_documents(TEXT)
    text = redacted_text(TEXT, read)
    assert "hunter2" not in text
    assert "lost" not in text
    assert text.startswith(TEXT[: TEXT.index("schema: deckhand")])
    assert text.endswith(TEXT[TEXT.index("schema: a/B/v1\nmetadata: {name: last}") :])
    assert "# behind\n" in text
    again = load_documents(text)
    assert [(one.schema, one.name, one.metadata) for one in again] == [
        (one.schema, one.name, one.metadata) for one in read
    ]
    hidden = {"password": PLACEHOLDER}
    assert [one.data for one in again] == [{"a": 1}, PLACEHOLDER, hidden, hidden, hidden, {"b": 2}]


def test_a_text_without_secrets_stays_the_same() -> None:
    text = "\ufeff# c\n--- # x\nschema: a/B/v1\nmetadata: {name: n}\ndata: 1"
    assert redacted_text(text, load_documents(text)) == text.removeprefix("\ufeff")


OPEN = "schema: a/B/v1 # open\nmetadata: {name: open}\ndata: 1\n# of the open one\n"
BLOCK = "schema: deckhand/Passphrase/v1\nmetadata: {name: pw}\ndata: x\n"
FLOW = "{schema: deckhand/Passphrase/v1, metadata: {name: pw}, data: x}"
HIDDEN = 'schema: deckhand/Passphrase/v1\nmetadata:\n  name: pw\ndata: "[redacted]"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"# old: hunter2\n{BLOCK}", HIDDEN),
        (f"---\n# old: hunter2\n{BLOCK}", f"---\n{HIDDEN}"),
        (f"--- # old: hunter2\n{BLOCK}# old: hunter2\n", f"---\n{HIDDEN}"),
        (f"%TAG ! tag:x: # hunter2\n---\n{BLOCK}", f"%TAG ! tag:x:\n---\n{HIDDEN}"),
        (f"{OPEN}---\n# old: hunter2\n{BLOCK}", f"{OPEN}---\n{HIDDEN}"),
        (f"{OPEN}...\n# hunter2\n%YAML 1.1\n--- # hunter2\n{BLOCK}", f"{OPEN}...\n%YAML 1.1\n---\n{HIDDEN}"),
        (f"{BLOCK}...\n# hunter2\n", f"{HIDDEN}...\n"),
        (f"{BLOCK}...\n# hunter2\n--- # next\n# next\n{OPEN}", f"{HIDDEN}...\n--- # next\n# next\n{OPEN}"),
        (f"{FLOW} # hunter2", HIDDEN),
        (f"--- {FLOW} # hunter2\n# hunter2\n---\n# next\n{OPEN}", f"---\n{HIDDEN}---\n# next\n{OPEN}"),
        (f"--- {FLOW}\n# hunter2\n--- # hunter2\n{FLOW}", f"---\n{HIDDEN}---\n{HIDDEN}"),
        ("---\r\n# hunter2\r\n" + BLOCK.replace("\n", "\r\n"), f"---\n{HIDDEN}"),
        (f"# hunter2\n{HIDDEN}", HIDDEN),
    ],
)
def test_comments_around_a_secret_document_may_be_about_it(text: str, expected: str) -> None:
    shown = redacted_text(text, load_documents(text))
    assert shown == expected
    assert [one.name for one in load_documents(shown)] == [one.name for one in load_documents(text)]


def test_what_documents_share_is_looked_at_wherever_its_key_says_something_else() -> None:
    """A part that many share is gone through once; under a key that is secret all of it counts all the same."""
    shared = {"ports": ["first", {"token": "inner"}]}
    plain, secret, *others = documents(*(layered(name, "site", {}) for name in "abcd"))
    plain.data["open"] = shared
    secret.data["password"] = shared
    for other in others:
        other.data["open"] = shared
    assert secret_values([plain, *others]) == {"inner"}
    assert secret_values([plain, secret, *others]) == {"inner", "first"}
    assert secret_values(document for document in [secret, plain]) == {"inner", "first"}


def test_values_that_must_not_be_logged() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgk\n  short\n-----END PRIVATE KEY-----\n"
    found = secret_values(
        documents(
            passphrase("a", "hunter2"),
            passphrase("b", {"k": ["deep", 1234567, 12, True, None, ""]}),
            layered("c", "site", {"oob": {"credential": "root1", "account": "root"}, "pem": pem, "x": PLACEHOLDER}),
            layered("d", "site", {"password": PLACEHOLDER}),
        )
    )
    assert found == {
        "hunter2",
        "deep",
        "1234567",
        "root1",
        pem,
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgk",
        "-----END PRIVATE KEY-----",
    }


def test_a_document_that_was_not_read_from_a_text_has_no_place_in_one() -> None:
    with pytest.raises(ValueError, match="was not read from a text"):
        redacted_text("", [Document("a/B/v1", "n", None, {"password": "x"})])


def test_what_is_shown_of_a_secret_cannot_be_taken_for_one() -> None:
    (document,) = documents(layered("d", "site", PLACEHOLDER, storagePolicy="encrypted"))
    assert redacted(document) is document
    assert yaml.safe_load(design_text(render([document])))["data"] == PLACEHOLDER
