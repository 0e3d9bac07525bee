"""`slipway doctor` at real stores, without an API server: what it cannot ask it says, and calls nothing fine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from site_store import ProcessNote, Role, SiteStore
from site_store.sql.fence import CURRENT
from slipway_cli.main import main
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site
from tests.support.stores import empty_database, new_store


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SLIPWAY_URL", "SLIPWAY_PROFILE", "SLIPWAY_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("SLIPWAY_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


def ask(monkeypatch: pytest.MonkeyPatch, url: str, *options: str) -> tuple[int, str]:
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", url)
    done = CliRunner().invoke(main, ["doctor", *options])
    return done.exit_code, done.output


def data(monkeypatch: pytest.MonkeyPatch, url: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ask(monkeypatch, url, "--json")[1])
    return found


def test_a_store_without_tables_is_an_error_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = ask(monkeypatch, empty_database())
    assert (status, "Traceback" in output) == (1, False)
    assert "1 error:" in output
    assert "has no tables of Slipway yet" in output
    assert "fix: slipway store upgrade" in output
    assert "the store cannot be used" in output.partition("Not looked at: ")[2]


def test_a_store_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    report = data(monkeypatch, "postgresql://nobody:geheim@127.0.0.1:9/none")
    (finding,) = report["findings"]
    assert finding["what"].endswith("cannot be used: nobody listens at 127.0.0.1, port 9")
    assert finding["fix"].startswith("start PostgreSQL there, and look at its listen_addresses and port")
    assert "geheim" not in json.dumps(report)
    assert report["looked_at"] == []


def test_a_profile_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with new_store() as url:
        status, output = ask(monkeypatch, url, "--profile", "misspelt")
    assert status != 0
    assert output.startswith("Error: there is no profile 'misspelt'")


def test_processes_are_judged_and_no_server_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    with new_store() as url, SiteStore.open(url) as store:
        for role in (*Role, "of tomorrow"):
            store.processes.note(ProcessNote(role, role, "0.0", CURRENT, "a", 1, 30.0, {"packages": {}}))
        report = data(monkeypatch, url)
        assert report["findings"][0]["what"].startswith("different versions of Slipway run: 0.0 (")
        assert any(
            words.startswith("Airflow's health and DAGs, and provisioners: ") for words in report["not_looked_at"]
        )
        assert "the store's PostgreSQL" in report["looked_at"]
        assert store.processes.server().max_connections >= 100
        # A copy of a store.
        store._database.write(lambda tx: tx.exec_driver_sql("UPDATE store_state SET database_id = 1"))
        held = str(store.home.held())
        assert held in [finding["what"] for finding in data(monkeypatch, url)["findings"]]
        store._database.write(lambda tx: tx.exec_driver_sql("UPDATE store_state SET database_id = slipway_database()"))


def test_rule_63_nodes_whose_agents_do_not_name_them_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    design = site([node("n1"), node("n2")], [group("g", ["n1", "n2"])])
    asks = {"node_states": {"health_url": "http://{address}:9650/state"}}
    asking = f"{design}---\n{json.dumps(document('slipway/SiteSettings/v1', 'settings', asks))}\n"
    with new_store() as url, SiteStore.open(url) as store:
        for name, text in (("asked", asking), ("left-alone", design)):
            commit_design(store, name, text)
            store.nodes.take_signatures(name, {"n1": 1, "n2": 2})
        found = [one["what"] for one in data(monkeypatch, url)["findings"]]
        assert [what for what in found if "version 1" in what] == ["1 node of site asked sign by version 1 (n1)"]
        store.nodes.take_signatures("asked", {"n1": 2})
        assert "version 1" not in json.dumps(data(monkeypatch, url))
