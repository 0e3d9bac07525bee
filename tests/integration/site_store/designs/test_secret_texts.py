"""Rule 62: what is secret in documents is encrypted at rest; keys are several, and change while work goes on."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from sqlalchemy import make_url

from design_rendering.reading.documents import load_documents
from site_store import BufferMode, KeyMissing, NewRevision, NoKey, RevisionSecrets, SiteStore, StoreNotConfigured
from site_store.__main__ import main
from site_store.sql import sealing
from site_store.sql.sealing import fingerprint, print_of, use_keys
from tests.integration.site_store.designs.desk import Desk, written, yaml
from tests.integration.site_store.scenario import SITE
from tests.support.releases import SECRET, releases
from tests.support.revisions import commit_design, plain_digests
from tests.support.stores import administer, new_store

PASSPHRASE = "correct-horse-77"
OLD, NEW, THIRD = (base64.urlsafe_b64encode(bytes([number]) * 32).decode() for number in (1, 2, 3))


def passphrase(name: str = "pass", secret: str = PASSPHRASE) -> str:
    return (
        f"---\nschema: deckhand/Passphrase/v1\nmetadata: {{name: {name}, storagePolicy: encrypted, "
        f"layeringDefinition: {{layer: site}}}}\ndata: {secret}\n"
    )


@pytest.fixture
def url() -> Iterator[str]:
    with new_store() as made:
        yield made


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the keys of the store: one at first."""
    file = tmp_path / "keys"
    file.touch(mode=0o600)
    file.write_text(OLD)
    monkeypatch.setenv("SLIPWAY_STORE_KEYS_FILE", str(file))
    return file


def without_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLIPWAY_STORE_KEYS_FILE")
    monkeypatch.setattr(sealing, "_handed", [])


def dumped(url: str) -> Iterator[tuple[str, str]]:
    """All that a dump of the database has: each row of each table as text, and what is in it compressed."""
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            for row in connection.execute(f'SELECT t::text, t.* FROM "{table}" t'.encode()).fetchall():
                yield table, row[0]
                for value in row[1:]:
                    if isinstance(value, bytes):
                        yield table, value.decode("latin-1")
                        if value[:1] == b"x":
                            yield table, zlib.decompress(value).decode()


def traces(secret: str, *texts: str) -> set[str]:
    """What shows a secret, or lets it be guessed."""
    coded = secret.encode()
    digests = {hashlib.sha256(text.encode()).hexdigest() for text in (secret, f'"{secret}"', *texts)}
    return {secret, base64.b64encode(coded).decode().rstrip("="), coded.hex(), hashlib.md5(coded).hexdigest()} | digests  # noqa: S324


def token_of(store: SiteStore, number: int) -> str:
    """Return what opens the design of a revision."""
    return store.secret_texts.token_of(store.revisions.design_handle(SITE, number))


def log_of(url: str) -> Path:
    with psycopg.connect(url) as connection:
        found = connection.execute("SHOW data_directory").fetchone()
    assert found is not None
    return Path(found[0]) / "log"


def commit_all(store: SiteStore, text: str, rendered: str) -> str:
    """Write a text wherever one is; return the token of a candidate."""
    desk = Desk(store)
    desk.put("secrets", text)
    desk.put("plain", yaml("a"))
    candidate = store.revisions.add_candidate(SITE, rendered)
    desk.commit(rendered, hidden=RevisionSecrets(frozenset([PASSPHRASE])))
    desk.put("plain", yaml("b"))
    return candidate


def test_rule_62_neither_a_dump_nor_the_log_has_a_secret(url: str, keys: Path) -> None:
    name = make_url(url).database
    administer(url, f"ALTER DATABASE {name} SET log_statement = 'all'")
    log = log_of(url)
    before = log.stat().st_size
    text, rendered = passphrase(), f"---\nschema: x/Y/v1\nmetadata: {{name: n}}\ndata: {{here: {PASSPHRASE}}}\n"
    try:
        with SiteStore.open(url) as store:
            candidate = commit_all(store, text, rendered)
            assert store.revisions.design_by_token(candidate) == rendered
            tokens = {candidate, token_of(store, 1)}
            assert store.revisions.get(SITE).text == rendered
            assert written(store, 1) == {"plain": yaml("a"), "secrets": text}
            assert store.revisions.secrets(SITE, 1) == RevisionSecrets(frozenset([PASSPHRASE]))
            assert store.revisions.designs(SITE, [1])[1][0] == rendered
            assert store.revisions.design_by_token(token_of(store, 1)) == rendered
            assert store.revisions.design_by_token(store.revisions.add_candidate(SITE, rendered)) == rendered
    finally:
        administer(url, f"ALTER DATABASE {name} RESET log_statement")
    found = traces(PASSPHRASE, text, rendered) | tokens
    assert [(table, trace) for table, row in dumped(url) for trace in found if trace in row] == []
    logged = log.read_bytes()[before:].decode("utf-8", "replace")
    assert "INSERT INTO content" in logged, "it is the log of these statements, with their values"
    assert [trace for trace in found if trace in logged] == []
    # What holds no secret is as it was: in clear, and found by its own digest.
    plain = hashlib.sha256(yaml("a").encode()).hexdigest()
    assert any(table == "content" and plain in row for table, row in dumped(url))


def test_without_a_key_documents_with_secrets_are_refused_and_others_are_not(
    url: str, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_key(monkeypatch)
    with SiteStore.open(url) as store:
        desk = Desk(store)
        with pytest.raises(NoKey, match=r"collection 'secrets' is refused.*set SLIPWAY_STORE_KEYS_FILE to a file with"):
            desk.put("secrets", passphrase())
        for short in ("schema: a/B/v1\nmetadata: {name: n}\ndata: {password: 12}\n", passphrase(secret="1")):
            with pytest.raises(NoKey):
                desk.put("secrets", short)
        desk.put("plain", yaml("a"))
        desk.commit("rendered")
        with pytest.raises(NoKey):
            desk.commit_texts({"secrets": passphrase()}, None)
        assert store.revisions.get(SITE).number == 1


def test_a_wrong_key_is_a_sentence_with_both_fingerprints_wherever_a_text_is_read(url: str, keys: Path) -> None:
    with SiteStore.open(url) as store:
        commit_all(store, passphrase(), PASSPHRASE)
        salt, token = store.processes.salt(), token_of(store, 1)
    keys.write_text(NEW)
    wanted = f"fingerprint {fingerprint(salt, OLD)}, and this process has {fingerprint(salt, NEW)}: add that key"
    with SiteStore.open(url) as store:
        readings = [
            lambda: store.revisions.get(SITE),
            lambda: store.revisions.secrets(SITE, 1),
            lambda: store.revisions.designs(SITE, [1]),
            lambda: store.revisions.design_by_token(token),
            lambda: store.sites.collections(SITE, 1),
            lambda: store.buffers.preview(SITE),
            lambda: Desk(store).put("more", passphrase("more")),
            store.secret_texts.require_readable,
        ]
        for reading in readings:
            with pytest.raises(KeyMissing, match=wanted):
                reading()
        assert store.revisions.newest(SITE)[0].number == 1, "what needs no text needs no key"
    refused = CliRunner().invoke(main, ["rotate", "--url", url])
    assert (refused.exit_code, fingerprint(salt, OLD) in refused.output) == (1, True)
    keys.write_text(f"{NEW},{OLD}\n")
    with SiteStore.open(url) as store:
        store.secret_texts.require_readable()
        assert store.revisions.get(SITE).text == PASSPHRASE


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("short", 0o600, "key 1 of 1 is no Fernet key"),
        (f"{OLD}, x", 0o600, "key 2 of 2 is no Fernet key"),
        ("", 0o600, "has no key"),
        (OLD, 0o640, "others may read"),
    ],
)
def test_keys_that_are_none_are_named(url: str, keys: Path, text: str, mode: int, said: str) -> None:
    keys.write_text(text)
    keys.chmod(mode)
    with pytest.raises(StoreNotConfigured, match=said) as caught:
        SiteStore.open(url)
    assert OLD not in str(caught.value)


def test_keys_come_from_the_setting_else_the_home_else_who_hands_them_in(
    tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "_handed", [])
    use_keys(lambda: f"{NEW},{OLD}")
    home = {"SLIPWAY_HOME": str(tmp_path)}
    assert sealing.read_keys(environ=home) == (NEW, OLD)
    (tmp_path / "store.keys").touch(mode=0o600)
    (tmp_path / "store.keys").write_text(THIRD)
    assert sealing.read_keys(environ=home) == (THIRD,)
    assert sealing.read_keys(environ={**home, "SLIPWAY_DATABASE_URL": "postgresql://elsewhere/x"}) == (NEW, OLD)
    assert sealing.read_keys("postgresql://elsewhere/x", home) == (NEW, OLD)
    assert sealing.read_keys(environ={**home, "SLIPWAY_STORE_KEYS_FILE": str(keys)}) == (OLD,)


def prints(url: str) -> set[str | None]:
    with psycopg.connect(url) as connection:
        query = b"SELECT text FROM content UNION SELECT text FROM candidate UNION SELECT digest_key FROM store_state"
        return {print_of(bytes(text)) for (text,) in connection.execute(query).fetchall()}


def test_keys_change_while_work_goes_on(url: str, keys: Path) -> None:
    with SiteStore.open(url) as store:
        commit_all(store, passphrase(), PASSPHRASE)
        salt, revision = store.processes.salt(), store.revisions.get(SITE)
    keys.write_text(f"{NEW} {OLD}")
    with SiteStore.open(url) as store:
        texts, desk, last = store.secret_texts, Desk(store), 0
        texts.rotate_common()
        number = 0
        while (piece := texts.rotate_next(last)) is not None:
            last, number = piece[0], number + 1
            # All that it had is there at each moment, by the same digests; and more comes.
            assert store.revisions.get(SITE, 1) == revision
            assert written(store, 1)["secrets"] == passphrase()
            if number < 4:
                desk.put(f"more{number}", passphrase(f"more{number}"))
        assert desk.commit("rendered").number == 2
    assert prints(url) == {fingerprint(salt, NEW), None}
    said = CliRunner().invoke(main, ["rotate", "--url", url])
    assert said.exit_code == 0
    assert f"0 texts encrypted anew; 9 have key {fingerprint(salt, NEW)}" in said.output
    assert f"no text needs {fingerprint(salt, OLD)}: it may go from the list" in said.output
    keys.write_text(NEW)
    with SiteStore.open(url) as store:
        assert store.revisions.get(SITE, 1) == revision
        # The same text is found by the same digest still.
        assert not store.revisions.commit(_again(store)).created


def _again(store: SiteStore) -> NewRevision:
    texts = written(store, 2)
    documents = [(name, document) for name, text in texts.items() for document in load_documents(text)]
    return NewRevision(SITE, texts, documents, "rendered", "ann")


_KILLED = """
import os, signal, sys
from sqlalchemy import Engine, event
from site_store.__main__ import main
left = [int(sys.argv.pop())]
def note(connection, cursor, statement, *_):
    if statement.lstrip().startswith("UPDATE") or statement.lstrip().startswith("COMMIT"):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
event.listens_for(Engine, "after_cursor_execute")(note)
main()
"""


@pytest.mark.endurance
def test_a_rotation_that_is_killed_at_any_piece_is_gone_on_with(url: str, keys: Path) -> None:
    with SiteStore.open(url) as store:
        commit_all(store, passphrase(), PASSPHRASE)
        salt, revision = store.processes.salt(), store.revisions.get(SITE)
    keys.write_text(f"{NEW},{OLD}")
    ends: list[int] = []
    at = 1
    while not ends or ends[-1] != 0:
        assert at < 9, ends
        command = [sys.executable, "-c", _KILLED, "rotate", "--url", url, str(at)]
        ends.append(subprocess.run(command, env=dict(os.environ), capture_output=True, check=False).returncode)
        with SiteStore.open(url) as store:
            assert store.revisions.get(SITE) == revision
            assert store.buffers.preview(SITE)[1][1].text == passphrase()
        # What is done stays so: each time it gets one further.
        at += 1
    assert ends[:-1] == [-signal.SIGKILL] * (len(ends) - 1)
    assert len(ends) > 2
    assert prints(url) == {fingerprint(salt, NEW), None}


def test_a_store_of_0_9_0_is_in_clear_until_it_is_rotated(keys: Path) -> None:
    (release,) = [one for one in releases() if one.version == "0.9.0"]
    url = release.restore()
    SiteStore.upgrade(url)
    with SiteStore.open(url) as store:
        before = {site: store.nodes.of_site(site) for site in store.sites.committed()}
        texts = {site: (store.revisions.get(site).text, written(store, 1, site)) for site in before}
    before_rows = [row for _, row in dumped(url)]
    assert [row for row in before_rows if SECRET in row]
    done = CliRunner().invoke(main, ["rotate", "--url", url])
    assert done.exit_code == 0, done.output
    held = [text for design, parts in texts.values() for text in (design or "", *parts.values()) if SECRET in text]
    # As 0.9.0 made the digest of a revision: of the digests of its collections.
    plain = sealing.plain_digest
    made = [json.dumps({name: plain(parts[name]) for name in sorted(parts)}) for _, parts in texts.values()]
    assert [one for one in map(plain, made) if any(one in row for row in before_rows)]
    found = traces(SECRET, *held, *(one for one in made if any(plain(text) in one for text in held)))
    # Those of 0.9.0 are not left in any row, before and after the rotation.
    guessable = {digest for design, _ in texts.values() for digest in plain_digests(design or "")}
    assert [digest for digest in guessable if any(digest in row for row in before_rows)] == []
    found |= guessable
    assert held
    assert [(table, trace) for table, row in dumped(url) for trace in found if trace in row] == []
    with SiteStore.open(url) as store:
        assert {site: store.nodes.of_site(site) for site in before} == before
        assert {site: (store.revisions.get(site).text, written(store, 1, site)) for site in before} == texts


def test_an_old_text_in_clear_is_encrypted_when_it_is_written_again(
    url: str, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As 0.9.0 wrote it.
    with monkeypatch.context() as old:
        for module in ("buffers", "revisions"):
            old.setattr(f"site_store.designs.{module}.holds_secret", lambda _: False)
        with SiteStore.open(url) as store:
            commit_design(store, SITE, passphrase())
    with SiteStore.open(url) as store:
        with pytest.raises(Exception, match="the same as in the newest revision"):
            store.buffers.put(SITE, "design", passphrase(), load_documents(passphrase()), BufferMode.APPEND, "ann")
        desk = Desk(store)
        desk.put("more", yaml("a"))
        assert desk.commit(passphrase()).number == 2
    assert [table for table, row in dumped(url) if PASSPHRASE in row and table == "content"] == []
