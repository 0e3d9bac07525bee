"""The command `slipway` against the real server: what it sends is taken, what it reads is there."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from site_store import ActionState, SiteStore
from slipway_cli.main import main
from tests.integration.api.airflow_runs import DESIGN, AirflowRuns, plan
from tests.integration.api.conftest import PASSWORD
from tests.support.simulators import Simulator

pytestmark = pytest.mark.usefixtures("dags", "connected")
STRATEGY = "schema: shipyard/DeploymentStrategy/v1"


@dataclass(frozen=True)
class Said:
    """What a command said. The server runs in this process, and its log, which goes to the same output, is left out."""

    stdout: str
    stderr: str

    @classmethod
    def of(cls, result: Result) -> Said:
        texts = (re.sub(r"(?m)^\d{4}-\d\d-\d\dT\S+ \[.*\n", "", text) for text in (result.stdout, result.stderr))
        return cls(*texts)

    @property
    def data(self) -> Any:
        """The JSON on standard output."""
        return json.loads(self.stdout)


Slipway = Callable[..., Said]


def run(*arguments: str, status: int = 0, stdin: str | None = None) -> Said:
    """Run `slipway`."""
    result = CliRunner().invoke(main, arguments, input=stdin, catch_exceptions=False)
    assert result.exit_code == status, result.output
    return Said.of(result)


@pytest.fixture
def slipway(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: str, tokens: dict[str, str]) -> Slipway:
    """Return a function that runs `slipway` as one who may trigger DAGs, or as `role`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SLIPWAY_URL", origin)
    monkeypatch.chdir(tmp_path)

    def with_token(*arguments: str, role: str = "user", **more: Any) -> Said:
        monkeypatch.setenv("SLIPWAY_TOKEN", tokens[role])
        return run(*arguments, **more)

    return with_token


@pytest.fixture
def committed(slipway: Slipway, tmp_path: Path) -> Slipway:
    """Commit a site first."""
    (tmp_path / "design.yaml").write_text(DESIGN)
    slipway("create", "configdocs", "design", "-f", "design.yaml")
    slipway("commit", "configdocs")
    return slipway


def test_logging_in(slipway: Slipway, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "and good until" in slipway("login", "-u", "viewer", stdin=PASSWORD).stdout
    assert "does not accept user 'viewer'" in slipway("login", "-u", "viewer", stdin="no", status=1).stderr
    monkeypatch.delenv("SLIPWAY_TOKEN")
    assert run("get", "actions").stdout == "site default has no action yet\n"
    monkeypatch.setenv("SLIPWAY_TOKEN", "made.up.token")
    assert "does not accept the token" in run("get", "actions", status=1).stderr


def test_documents_from_their_files_to_a_revision(slipway: Slipway, tmp_path: Path) -> None:
    nodes, _, rest = DESIGN.partition(STRATEGY)
    (tmp_path / "nodes.yaml").write_text(nodes)
    (tmp_path / "bad.yaml").write_text(
        f"# the strategy\n{STRATEGY}{rest}".replace("critical: true", "critical: maybe", 1)
    )
    (tmp_path / "good.yaml").write_text(f"{STRATEGY}{rest}")
    assert (
        "is loaded (2 files)" in slipway("create", "configdocs", "design", "-f", "nodes.yaml", "-f", "bad.yaml").stdout
    )
    assert "+ design: shipyard/DeploymentStrategy/v1" in slipway("diff", "configdocs").stdout
    line = (tmp_path / "bad.yaml").read_text().partition("critical: maybe")[0].count("\n") + 1
    refused = slipway("commit", "configdocs", status=1)
    assert f"  bad.yaml:{line}: $.data.groups[0].critical: must be true or false" in refused.stderr
    assert refused.stderr.endswith("Error: Validations failed\n")
    assert slipway("commit", "configdocs", "-o", "json", status=1).data["details"]["errorCount"] >= 1
    assert (
        "Validations failed DRYRUN: nothing is committed"
        in slipway("commit", "configdocs", "--dryrun", status=1).stdout
    )
    again = ("create", "configdocs", "design", "-f", "nodes.yaml", "-f", "good.yaml")
    assert "is not empty, it holds design" in slipway(*again, status=1).stderr
    slipway(*again, "--replace")
    assert "committed site default as revision 1\n" in slipway("commit", "configdocs").stdout
    assert slipway("get", "configdocs", "--collection", "design").stdout.startswith(nodes)
    assert "schema: " in slipway("get", "renderedconfigdocs", "-c").stdout
    assert "nothing to commit" in slipway("commit", "configdocs", status=1).stderr


def test_what_is_no_yaml_is_told_by_its_file(slipway: Slipway, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(DESIGN)
    (tmp_path / "b.yaml").write_text("---\n\n\na: [1\nb: 2\n")
    refused = slipway("create", "configdocs", "design", "-d", ".", status=1)
    assert "  b.yaml:5: this is not YAML: " in refused.stderr
    assert "on b.yaml:4, " in refused.stderr


def test_history(committed: Slipway, tmp_path: Path) -> None:
    (tmp_path / "design.yaml").write_text(DESIGN.replace("critical: true", "critical: false"))
    committed("create", "configdocs", "design", "-f", "design.yaml")
    assert "  ~ $.data.groups[0].critical: true -> false" in committed("diff", "configdocs").stdout
    committed("commit", "configdocs")
    assert "~ design: " in committed("diff", "configdocs", "1", "2", "--rendered").stdout
    assert "as revision 3, with the documents of revision 1" in committed("rollback", "configdocs", "1").stdout
    assert "there is nothing to go back to" in committed("rollback", "configdocs", "1", status=1).stderr
    assert "committed, goes back to 1" in committed("get", "revisions").stdout
    assert "Goes back to: 1\n" in committed("describe", "revision/3").stdout
    rows = committed("get", "configdocs").stdout
    assert "buffer: unmodified" in rows


def test_the_buffer_is_discarded(slipway: Slipway, tmp_path: Path) -> None:
    (tmp_path / "design.yaml").write_text(DESIGN)
    slipway("create", "configdocs", "design", "-f", "design.yaml")
    assert "is empty\n" in slipway("delete", "configdocs", "--yes").stdout
    assert "is empty already" in slipway("delete", "configdocs").stdout


def test_a_forced_commit(slipway: Slipway, tmp_path: Path) -> None:
    (tmp_path / "design.yaml").write_text(
        "schema: x/Y/v1\nmetadata: {schema: metadata/Document/v1, name: n}\ndata: {}\n"
    )
    slipway("create", "configdocs", "design", "-f", "design.yaml")
    forced = slipway("commit", "configdocs", "--force")
    assert "committed site default as revision 1, in spite of its errors" in forced.stdout
    assert "Forced in spite of:" in slipway("describe", "revision/1").stdout
    refused = slipway("create", "action", "deploy_site", status=1)
    assert "Error: revision 1 of site default is not valid: nothing was started. Mend the documents" in refused.stderr


def test_an_action_from_its_creation_to_its_end(
    committed: Slipway, store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    created = committed("create", "action", "deploy_site", "-o", "json").data
    identity = created["id"]
    assert f"is busy: action {identity}" in committed("create", "action", "update_site", status=1).stderr
    plan(store, identity)
    assert "Processing" in committed("get", "actions").stdout
    shown = committed("describe", identity, "-v", "5").stdout
    assert "State: Processing\n" in shown
    assert "control  yes       pending      2" in shown
    assert "invoke by user" in shown
    assert "index: 3\n" in committed("describe", f"step/{identity}/validate_design").stdout
    assert "has not begun" in committed("logs", f"step/{identity}/validate_design", status=1).stderr
    assert "none are kept" in committed("describe", f"validation/{identity}/1", status=1).stderr
    assert "is paused" in committed("pause", f"action/{identity}").stdout
    assert "Paused" in committed("get", "actions").stdout
    assert "cannot pause action" in committed("pause", identity, status=1).stderr
    assert "goes on" in committed("unpause", "action", identity).stdout
    workflow = committed("get", "workflows", "-o", "json").data[0]["workflow_id"]
    assert "state: queued\n" in committed("describe", f"workflow/{workflow}").stdout
    note = committed("describe", identity, "-o", "json").data["notes"][0]["note_id"]
    assert committed("describe", f"notedetails/{note}").stdout
    assert "is being stopped" in committed("stop", f"action/{identity}").stdout
    airflow_runs.end("deploy_site", identity)
    store.actions.close(identity, ActionState.CANCELLED, "stopped")
    assert "cannot stop action" in committed("stop", identity, status=1).stderr
    followed = committed("describe", identity, "--follow", status=1)
    assert "CANCELLED: stopped" in followed.stdout


def test_how_it_stands(committed: Slipway, store: SiteStore, airflow_runs: AirflowRuns) -> None:
    identity = committed("create", "action", "deploy_site", "-o", "json").data["id"]
    plan(store, identity)
    shown = committed("describe", identity, "--tree").stdout
    assert "deploy_site of site default, revision 1, by user: running\n" in shown
    assert re.search(r"[·▶?] control \*  \w+  [·▶?] 2\n", shown), shown
    whole = committed("describe", identity, "--tree", "--depth", "all").stdout
    assert whole.count(" n1  ") == 2, "in prepare and in deploy"
    assert committed("describe", identity, "--tree", "-o", "json").data["header"]["id"] == identity
    sites = committed("get", "sites").stdout
    assert f"action/{identity}" in sites
    assert "· pending" in sites
    nodes = committed("get", "nodes", "--group", "control", "--status", "pending").stdout
    assert [line.split()[0] for line in nodes.splitlines()[2:]] == ["n1", "n2"]
    site = committed("describe", "site/default", "--depth", "2").stdout
    said = "site default: behind the design: 3 nodes serve nothing; healthy\nrevision 1 is committed; 3 nodes\n"
    assert site.startswith(said)
    assert "· n3  pending" in site
    assert "Wanted: since revision 1\n" in committed("describe", "node/n1").stdout
    assert identity in committed("describe", "node/n1").stdout
    assert "has no node 'n9'" in committed("describe", "node/n9", status=1).stderr
    assert "airflow:deploy_site" in committed("get", "owners").stdout
    assert "it is not over yet" in committed("report", identity, status=1).stderr
    airflow_runs.end("deploy_site", identity)
    store.actions.close(identity, ActionState.CANCELLED, "stopped")
    followed = committed("describe", identity, "--tree", "--follow", status=1)
    assert "CANCELLED: stopped\n" in followed.stdout


def test_a_site_that_is_misspelt(committed: Slipway, tmp_path: Path) -> None:
    committed("create", "configdocs", "design", "-f", "design.yaml", "--site", "lab-7")
    for command in (("get", "actions"), ("get", "nodes"), ("describe", "node/n1"), ("plan", "deploy_site")):
        assert "did you mean 'lab-7'?" in committed(*command, "--site", "lab-77", status=1).stderr
    assert "did you mean 'lab-7'?" in committed("describe", "site/lab-77", status=1).stderr
    assert "lab-7" in committed("get", "sites", "--site", "lab-77").stdout


def test_what_an_action_would_do(committed: Slipway) -> None:
    said = committed("plan", "update_site", "--fresh").stdout
    assert "update_site of site default, revision 1: erases 0 " in said
    assert re.search(r"1  control  yes +2 +prepare 2, deploy 2", said), said
    assert committed("plan", "deploy_site", "-o", "json").data["listed"]["age"] >= 0


def test_who_one_is_and_what_one_may_do(slipway: Slipway) -> None:
    said = slipway("whoami").stdout
    assert said.startswith("User: user\nServer: http://127.0.0.1:"), said
    assert "\nmay start: deploy_site, update_site, " in said
    assert "\nmay load, commit and roll back documents\n" in said
    assert "\nmay not see secrets in documents\nmay not make connections\n" in said
    assert "\nmay not start: any action\n" in slipway("whoami", role="viewer").stdout
    found = slipway("whoami", "-o", "json", role="admin").data
    assert (found["user"], found["connect"], found["read_secrets"], found["commit"]) == ("admin", True, True, True)
    assert found["token_expires"] > "2026"


def _editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """Have a shell script be the editor; it is called with the file."""
    path = tmp_path / "editor.sh"
    path.write_text(script)
    monkeypatch.setenv("EDITOR", f"sh {path}")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "drafts"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "drafts").mkdir(exist_ok=True)


def test_a_collection_is_edited_and_judged_in_the_buffer(
    committed: Slipway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "schema: x/Y/v1\nmetadata: {schema: metadata/Document/v1, name: n}\ndata: {}\n"
    (tmp_path / "other.yaml").write_text(other)
    committed("create", "configdocs", "other", "-f", "other.yaml")
    drafts = tmp_path / "drafts"

    def edit(script: str, **more: Any) -> Said:
        _editor(monkeypatch, tmp_path, script)
        return committed("edit", "configdocs", "design", role="op", **more)

    assert "was not changed" in edit("exit 0").stderr
    assert not list(drafts.iterdir())
    good = edit('sed -i "s/critical: true/critical: false/" "$1"')
    assert "design is loaded into the buffer of site default" in good.stderr
    assert "Validations succeeded DRYRUN: nothing is committed\n" in good.stdout
    assert not list(drafts.iterdir())
    assert "critical: false" in committed("get", "configdocs", "--collection", "design").stdout
    assert committed("get", "configdocs", "--collection", "other").stdout == other, "the other one stays"
    # From the buffer, once more; what is wrong with it is said, and it is there to be edited again.
    bad = edit('sed -i "s/critical: false/critical: maybe/" "$1"', status=1)
    assert "must be true or false, not the text 'maybe'" in bad.stderr
    assert "critical: maybe" in committed("get", "configdocs", "--collection", "design").stdout


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('printf "a: [1\\n" >> "$1"', "this is not YAML"),
        ('echo "# more" >> "$1"; exit 3', "ended with status 3: nothing was put into the buffer"),
        ('echo "# nothing" > "$1"', "no document is left in it"),
    ],
)
def test_an_edited_text_that_is_refused_is_kept(
    committed: Slipway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    _editor(monkeypatch, tmp_path, script)
    refused = committed("edit", "configdocs", "design", role="op", status=1)
    assert said in refused.stderr
    (draft,) = (tmp_path / "drafts").iterdir()
    assert f"your text is kept in {draft}: slipway create configdocs design -f {draft} --renew\n" in refused.stderr
    assert draft.stat().st_mode & 0o777 == 0o600
    assert "buffer: unmodified" in committed("get", "configdocs").stdout
    assert "did you mean 'design'?" in committed("edit", "configdocs", "desing", role="op", status=1).stderr


def test_what_somebody_else_loads_meanwhile_is_not_overwritten(
    committed: Slipway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs.yaml").write_text(DESIGN + "# theirs\n")
    slipway = f"{sys.executable} -m slipway_cli create configdocs design -f {tmp_path / 'theirs.yaml'}"
    _editor(monkeypatch, tmp_path, f'{slipway} || exit 9\necho "# mine" >> "$1"')
    refused = committed("edit", "configdocs", "design", role="op", status=1)
    assert "your text is kept in " in refused.stderr
    assert "# theirs" in committed("get", "configdocs", "--collection", "design").stdout


def test_a_connection_is_tested_and_stored_with_the_rights_of_its_user(
    slipway: Slipway, connected: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("create", "connection", "drydock", "slipway_provisioner_lab", "--url")
    refused = slipway(*command, connected.url, "--no-test", role="viewer", status=1)
    assert "Forbidden" in refused.stderr
    untested = slipway(*command, connected.url, role="admin", status=1)
    assert "[core] test_connection is not Enabled): nothing was stored" in untested.stderr
    monkeypatch.setenv("AIRFLOW__CORE__TEST_CONNECTION", "Enabled")
    assert "nothing was stored" in slipway(*command, "http://127.0.0.1:9", role="admin", status=1).stderr
    said = slipway(*command, connected.url, role="admin").stdout
    assert said.startswith("tested: ")
    assert "\nconnection slipway_provisioner_lab is stored in Airflow\n" in said
    again = slipway(*command, connected.url, "--yes", role="admin").stdout
    assert "\nconnection slipway_provisioner_lab is replaced in Airflow\n" in again
