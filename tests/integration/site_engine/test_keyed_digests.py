"""Rule 62: digests of nodes are keyed, and nothing that happens to keys or stores makes a node differ by that."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import psycopg
import pytest
import yaml
from click.testing import CliRunner

from design_rendering.design import read_design
from design_rendering.policies import police
from design_rendering.reading.documents import load_documents
from design_rendering.rendering import RenderedDocument, Rendering
from site_engine.designs import read_revision
from site_engine.extensions import OWN_POLICIES
from site_engine.kinds import KINDS
from site_engine.parameters import ActionParameters
from site_engine.plans.differences import node_differences
from site_engine.plans.planning import plan_action
from site_engine.provisioners import handle_in, opening_address
from site_store import ActionState, KeyMissing, RevisionNotFound, SiteStore
from site_store.__main__ import main
from site_store.backups import back_up, restore
from site_store.sql import sealing
from site_store.sql.fence import CURRENT
from strategy_lib.goals.update import Change
from strategy_lib.node_condition import NodeCondition
from tests.integration.site_store.designs.test_secret_texts import dumped
from tests.support.driving import Begin
from tests.support.releases import Release, releases
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site
from tests.support.stores import empty_database

OLD, NEW = (base64.urlsafe_b64encode(bytes([number]) * 32).decode() for number in (1, 2))
PLAIN = site([node("a"), node("b")], [group("all")])
SECRET = "---\n" + yaml.safe_dump(
    document("deckhand/Passphrase/v1", "pass", "correct-horse-77", storagePolicy="encrypted")
)
NOTHING = {"a": Change.NONE, "b": Change.NONE}


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the keys of the store."""
    file = tmp_path / "keys"
    file.touch(mode=0o600)
    file.write_text(OLD)
    monkeypatch.setenv("SLIPWAY_STORE_KEYS_FILE", str(file))
    return file


def to_do(store: SiteStore, name: str = "alpha") -> dict[str, Change]:
    """Return what an update would do to nodes that all are deployed, as its own task computes it."""
    _, documents = read_revision(store, name, None)
    design = read_design(documents).keyed(store.secret_texts.digest_key())
    records, deployed = store.nodes.of_site(name), dict.fromkeys(design.digests, NodeCondition.DEPLOYED)
    plan = plan_action(KINDS["update_site"], ActionParameters(), design, design.strategy, records, deployed)
    found = node_differences(design.digests, records, deployed)
    assert {each.name for each in found.values() if each.change is Change.NONE} == plan.done - set(plan.relabel)
    return {each.name: each.change for each in found.values()}


def deploy(begin: Begin, text: str) -> None:
    """Deploy all of a site."""
    driving = begin(text)
    driving.finish()
    driving.store.actions.close(driving.action.id, ActionState.SUCCESS, "done")


def rotate(url: str, keys: Path) -> None:
    """Give the store another key, and take the old one away."""
    keys.write_text(f"{NEW},{OLD}")
    done = CliRunner().invoke(main, ["rotate", "--url", url])
    assert done.exit_code == 0, done.output
    keys.write_text(NEW)


def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take all keys from this process."""
    monkeypatch.delenv("SLIPWAY_STORE_KEYS_FILE")
    monkeypatch.setattr(sealing, "_handed", [])


def versions(store: SiteStore, name: str) -> list[object]:
    """Return what is wanted of each node of a site, and which version each object has."""
    nodes = [(one.name, one.wanted_version, one.wanted_revision) for one in store.nodes.of_site(name)]
    return [nodes, [(one.key, one.version) for one in store.objects.page(name, 100)]]


def row(url: str) -> bytes:
    """Return the key of digests as it is stored."""
    with psycopg.connect(url) as connection:
        ((stored,),) = connection.execute("SELECT digest_key FROM store_state").fetchall()
    return bytes(stored)


def relations(url: str) -> list[tuple[object, ...]]:
    """Return of each node and task how its digests are to each other: that is all that anybody asks of them."""
    nodes = (
        "SELECT n.site, n.name, n.standing, n.serves, n.wanted_version, n.done_version, n.done_digest IS NOT NULL, "
        "n.wanted_digest IS NOT DISTINCT FROM n.done_digest, t.action_id, t.phase, n.wanted_digest = t.digest, "
        "n.done_digest = t.digest, split_part(n.wanted_digest, ':', 3) = split_part(n.done_digest, ':', 3) "
        "FROM node n LEFT JOIN task t ON t.node = n.name AND t.digest IS NOT NULL "
        "AND EXISTS (SELECT 1 FROM action a WHERE a.id = t.action_id AND a.site = n.site) ORDER BY 1, 2, 9, 10"
    )
    with psycopg.connect(url) as connection:
        return connection.execute(nodes.encode()).fetchall()


@pytest.mark.parametrize("given", [True, False], ids=["with keys", "without keys"])
@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_an_upgrade_makes_no_node_differ(
    release: Release, given: bool, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = release.restore()
    before = relations(url)
    as_wanted = {(one[0], one[1]) for one in before if one[2] == "success" and one[7]}
    assert 3 < len(as_wanted) < len({(one[0], one[1]) for one in before})
    with monkeypatch.context() as upgrading:
        if not given:
            without_keys(upgrading)
        SiteStore.upgrade(url)
        assert relations(url) == before
        assert (row(url)[:1] == b"\x02") is given
        with SiteStore.open(url) as store:
            sites = store.sites.committed()
            found = {name: to_do(store, name) for name in sites}
            assert {found[str(name)][str(one)] for name, one in as_wanted} == {Change.NONE}
            known = {name: versions(store, name) for name in sites}
    with SiteStore.open(url) as store:
        for name in set(sites) - {"failed"}:
            # The very same, committed again; the site that is left out has something in its buffer.
            commit_design(store, name, store.revisions.get(name).text or "")
        assert {name: versions(store, name) for name in sites} == known
        assert {name: to_do(store, name) for name in sites} == found
        assert row(url)[:1] == b"\x02", "secrets came"
    rotate(url, keys)
    with SiteStore.open(url) as store:
        assert {name: to_do(store, name) for name in sites} == found


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_an_upgrade_leaves_what_policies_have_judged(release: Release, keys: Path) -> None:
    url = release.restore()
    with psycopg.connect(url) as connection:
        text = (
            "SELECT text FROM content c JOIN revision r ON r.design_id = c.id WHERE r.site = 'led' ORDER BY number DESC"
        )
        ((stored,), *_older) = connection.execute(text.encode()).fetchall()
        rendering = Rendering(tuple(map(RenderedDocument, load_documents(zlib.decompress(stored).decode()))))
        judged = police(rendering, OWN_POLICIES).judged
        row = "UPDATE design_object SET policed_version = version, policed_set = %s WHERE site = 'led' "
        for each, digest in judged.items():
            assert (
                connection.execute(f"{row} AND (kind, name) = (%s, %s)".encode(), [f"own:{digest}", *each]).rowcount
                == 1
            )
    SiteStore.upgrade(url)
    with SiteStore.open(url) as store:
        key = store.secret_texts.digest_key()
        assert store.objects.judged("led", "own") == police(rendering, OWN_POLICIES, None, key).judged != judged
    assert [digest for digest in judged.values() if any(digest in row for _, row in dumped(url))] == []


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_an_upgrade_leaves_each_address_open_and_no_token_in_the_store(release: Release, keys: Path) -> None:
    url = release.restore()
    with psycopg.connect(url) as connection:
        known = connection.execute("SELECT number, design_token FROM revision WHERE site = 'led' ORDER BY 1").fetchall()
        ((op,),) = connection.execute("SELECT max(op) FROM operation WHERE site = 'led'").fetchall()
        address = f"https://slipway.test/slipway/d/{known[0][1]}?n=7"
        connection.execute("UPDATE operation SET design_ref = %s WHERE op = %s", [address, op])
        row = "INSERT INTO candidate (token, site, created, text) VALUES ('candidate-of-before', 'led', now(), %s)"
        connection.execute(row.encode(), [zlib.compress(b"a: 1")])
    assert len(known) > 1
    SiteStore.upgrade(url)
    with SiteStore.open(url) as store:
        for number, token in known:
            handle = store.revisions.design_handle("led", number)
            text = store.revisions.get("led", number).text
            # What the provisioner was told before, and what it is told from now on.
            for opens in (token, store.secret_texts.token_of(handle)):
                assert store.revisions.design_by_token(opens) == text
            for opens_nothing in (handle, token[:-1], handle + token[16:], ""):
                with pytest.raises(RevisionNotFound):
                    store.revisions.design_by_token(opens_nothing)
        assert store.revisions.design_by_token("candidate-of-before") == "a: 1"
        ref = store.operations.get(op).design_ref
        assert store.revisions.number_of_handle("led", handle_in(ref)) == known[0][0]
        opened = opening_address(ref, store.secret_texts.token_of)
        assert opened.endswith("?n=7")
        assert store.revisions.design_by_token(handle_in(opened)) == store.revisions.get("led", known[0][0]).text
        tokens = {"candidate-of-before", handle_in(opened), *(token for _, token in known)}
    assert [token for token in tokens if any(token in row for _, row in dumped(url))] == []


def test_keys_that_change_make_no_node_differ(keys: Path, begin: Begin, store_url: str) -> None:
    deploy(begin, PLAIN + SECRET)
    with SiteStore.open(store_url) as store:
        key = store.secret_texts.digest_key()
        assert to_do(store) == NOTHING
    rotate(store_url, keys)
    with SiteStore.open(store_url) as store:
        assert store.secret_texts.digest_key() == key
        assert to_do(store) == NOTHING
        commit_design(store, "alpha", PLAIN.replace("host_profile: compute", "host_profile: other") + SECRET)
        assert to_do(store) == dict.fromkeys(NOTHING, Change.CHANGE), "what differs is seen"


def test_keys_that_come_later_make_no_node_differ(
    keys: Path, begin: Begin, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as process:
        without_keys(process)
        deploy(begin, PLAIN)
        opened_before = SiteStore.open(store_url)
        assert to_do(opened_before) == NOTHING
    assert row(store_url)[:1] == b"\x01"
    with SiteStore.open(store_url) as store:
        assert to_do(store) == NOTHING
        commit_design(store, "beta", PLAIN + SECRET)
        assert to_do(store) == NOTHING
    assert row(store_url)[:1] == b"\x02", "a secret came"
    with opened_before, pytest.raises(KeyMissing, match="this process has none: add that key"):
        # Without the keys it computes no other digest: it computes none.
        to_do(opened_before)


def test_a_backup_that_is_restored_makes_no_node_differ(
    keys: Path, begin: Begin, store_url: str, tmp_path: Path
) -> None:
    deploy(begin, PLAIN + SECRET)
    file, other = tmp_path / "store.backup", empty_database()
    back_up(file, store_url)
    rotate(store_url, keys)
    keys.write_text(f"{NEW},{OLD}")
    restore(file, other)
    with SiteStore.open(other) as store:
        assert to_do(store) == NOTHING
    # Another store's own digests, below a process that has this one open: it is asked for its key each time.
    with SiteStore.open(store_url) as store, SiteStore.open(other) as second:
        assert store.secret_texts.digest_key() == second.secret_texts.digest_key()
        with psycopg.connect(store_url) as connection:
            connection.execute("SELECT slipway_may_write(%s)", [CURRENT])
            connection.execute(sealing.MAKE_CLEAR.encode())
        assert store.secret_texts.digest_key() != second.secret_texts.digest_key()
