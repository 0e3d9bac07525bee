"""Creating actions: parameters, and the questions before servers lose what is on them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import ID, Server, action

N1 = {"target_nodes": ["n1"]}
N1_N2 = {"target_nodes": ["n1", "n2"]}


def test_an_action_is_created(slipway: Slipway, server: Server) -> None:
    server.foresee()
    created = action(action_lifecycle="Pending", warnings=[{"message": "odd", "error": False, "level": "Warning"}])
    server.on("POST", "/actions", created, 201)
    result = slipway("create", "action", "deploy_site")
    assert (result.exit_code, result.stderr) == (0, "1 warning:\n  odd\n")
    assert result.stdout == (
        f"action/{ID}: deploy_site of site default, revision 3: Pending\n"
        f"next: slipway describe action/{ID} --follow; slipway stop action/{ID}\n"
    )
    assert json.loads(server.request.body) == {"name": "deploy_site"}
    assert server.request.params["allow-intermediate-commits"] == "false"


@pytest.mark.parametrize(
    ("kind", "options", "parameters"),
    [
        ("update_site", ("--param", "continue-on-fail=true", "-n", "n1"), {"continue-on-fail": "true"} | N1),
        ("update_site", ("--revision", "2", "--force"), {"revision": 2, "force": True}),
        ("relabel_nodes", ("-n", "n1,n2"), N1_N2),
        ("relabel_nodes", ("-n", "n1, ", "--target-node", " n2"), N1_N2),
        ("deploy_site", ("--dry-run",), {"dry_run": True}),
        ("deploy_site", ("--dryrun",), {"dry_run": True}),
        ("deploy_site", ("--continue-on-fail",), {"continue-on-fail": True}),
    ],
)
def test_parameters(
    slipway: Slipway, server: Server, kind: str, options: tuple[str, ...], parameters: dict[str, Any]
) -> None:
    server.on("POST", "/actions", action(), 201)
    assert slipway("create", "action", kind, *options, "--yes", "--allow-intermediate-commits").exit_code == 0
    assert json.loads(server.request.body)["parameters"] == parameters
    assert server.request.params["allow-intermediate-commits"] == "true"
    assert "--dryrun" not in slipway("create", "action", "--help").stdout, "as of a commit, and not shown"


def test_a_request_that_is_wrong_is_refused_by_its_creation(slipway: Slipway, server: Server) -> None:
    server.refuse("POST", "/actions/plan", 400, "the parameters cannot be used")
    server.refuse("POST", "/actions", 400, "the parameters cannot be used: misspelt")
    assert "misspelt" in slipway("create", "action", "deploy_site").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("deploy_site", "--param", "force"),
        ("deploy_site", "--param", "=1"),
        ("deploy_site", "--param", "a=1", "--param", "a=2"),
        ("deploy_site", "--param", "force=true", "--force"),
        ("deploy_site", "--param", "continue-on-fail=true", "--continue-on-fail"),
        ("deploy_site", "--param", "target_nodes=a", "-n", "b"),
        ("deploy_site", "--revision", "0"),
        ("redeploy_server",),
        ("deploy_site", "-n", " , "),
        ("relabel_nodes", "--param", "target_nodes= ,"),
    ],
)
def test_what_cannot_be_meant_is_wrong_use(slipway: Slipway, server: Server, arguments: tuple[str, ...]) -> None:
    result = slipway("create", "action", *arguments)
    assert (result.exit_code, "Error: " in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("kind", "options", "answer", "sent"),
    [
        ("redeploy_server", (), "y\n", True),
        ("redeploy_server", (), "n\n", False),
        ("redeploy_server", (), "", False),
        ("redeploy_server", ("--yes",), "", True),
        ("redeploy_server", ("--yes-destroy",), "", False),
        ("redeploy_server", ("--dry-run",), "", True),
        ("destroy_nodes", (), "lab-7\n", True),
        ("destroy_nodes", (), "y\n", False),
        ("destroy_nodes", (), "", False),
        ("destroy_nodes", ("--yes",), "", False),
        ("destroy_nodes", ("--yes-destroy",), "", True),
        ("relabel_nodes", (), "", True),
    ],
)
def test_servers_are_not_erased_unasked(
    slipway: Slipway, server: Server, kind: str, options: tuple[str, ...], answer: str, sent: bool
) -> None:
    asks = kind != "relabel_nodes" and "--dry-run" not in options and not (sent and options)
    if asks:
        server.foresee()
    if sent:
        server.on("POST", "/actions", action(name=kind), 201)
    result = slipway(
        "create", "action", kind, "--param", "target_nodes=n1, n2", "--site", "lab-7", *options, stdin=answer
    )
    assert (result.exit_code == 0, len(server.mock.calls)) == (sent, asks + sent)
    assert ("n1, n2 of site lab-7 at http://127.0.0.1:1 will be erased" in result.stderr) is asks
    if not sent:
        assert "nothing was done" in result.stderr


@pytest.mark.parametrize("kind", ["redeploy_server", "destroy_nodes"])
def test_what_is_refused_is_refused_before_anybody_is_asked(slipway: Slipway, server: Server, kind: str) -> None:
    why = "node n1 is out of use: set to maintenance by ann: new disk"
    server.refuse("POST", "/actions/plan", 409, why)
    result = slipway("create", "action", kind, "--target-node", "n1")
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: node n1 is out of use: set to maintenance by ann: new disk\n",
    )
    assert json.loads(server.request.body) == {"name": kind, "parameters": {"target_nodes": ["n1"]}}


@pytest.mark.parametrize(
    ("arguments", "unasked"),
    [
        (("deploy_site",), "--yes"),
        (("update_site", "--prune"), "--yes --yes-destroy"),
        (("update_site", "--prune", "--yes"), "--yes-destroy"),
        (("redeploy_server", "-n", "n1"), "--yes"),
        (("destroy_nodes", "-n", "n1"), "--yes-destroy"),
    ],
)
def test_where_nobody_can_foresee_it_the_refusal_says_how_to_go_on(
    slipway: Slipway, server: Server, arguments: tuple[str, ...], unasked: str
) -> None:
    server.refuse("POST", "/actions/plan", 503, "The provisioner cannot be reached: no route to host")
    result = slipway("create", "action", *arguments)
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: what the action would do cannot be found out: The provisioner cannot be reached: no route to host. "
        f"Try again later. (request request-1); {unasked} starts it without asking\n",
    )


def test_a_mistyped_kind_is_told_the_right_one(slipway: Slipway, server: Server) -> None:
    result = slipway("create", "action", "deploy_sit")
    assert (result.exit_code, "'deploy_sit' is not known; did you mean 'deploy_site'?" in result.stderr) == (2, True)


def test_deployed_nodes_that_would_be_touched_are_asked_about(slipway: Slipway, server: Server) -> None:
    server.foresee(deployed=("n1",), withheld=("n2",))
    result = slipway("create", "action", "update_site", "--force")
    assert result.exit_code == 1
    assert "withheld: n2" in result.stderr
    assert "nothing was done: n1 of site default would be touched though deployed already" in result.stderr
    assert server.request.path_url.partition("?")[0].endswith("/actions/plan")
    assert json.loads(server.request.body) == {"name": "update_site", "parameters": {"force": True}}


def test_a_repair_that_would_erase_deployed_nodes_asks_too(slipway: Slipway, server: Server) -> None:
    server.foresee(deployed=("n1",))
    result = slipway("create", "action", "repair_site", "-n", "n1", "--allow-redeploy")
    assert (result.exit_code, "nothing was done: n1 of site default would be touched" in result.stderr) == (1, True)


def test_yes_asks_nothing_about_deployed_nodes(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/actions", action(), 201)
    assert slipway("create", "action", "update_site", "--force", "--yes").exit_code == 0


def test_without_a_terminal_it_goes_on_where_deployed_nodes_are_left_alone(slipway: Slipway, server: Server) -> None:
    server.foresee(withheld=("n2",))
    warnings = [
        {"message": text, "error": False, "level": "Warning"}
        for text in ("withheld: n2; released first: ", "the provisioner is slow")
    ]
    server.on("POST", "/actions", action(warnings=warnings), 201)
    result = slipway("create", "action", "update_site")
    # What was said before is not said again.
    assert (result.exit_code, result.stderr.count("withheld: n2")) == (0, 1)
    assert "the provisioner is slow" in result.stderr


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_on_a_terminal_deployed_nodes_are_asked_about(
    slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    monkeypatch.setattr("slipway_cli.online.actions.create.is_terminal", lambda: True)
    server.foresee(withheld=("n2",))
    if status == 0:
        server.on("POST", "/actions", action(), 201)
    result = slipway("create", "action", "update_site", stdin=answer)
    assert result.exit_code == status
    assert "update_site of site default at http://127.0.0.1:1: go on?" in result.stderr


@pytest.mark.parametrize(
    ("options", "answer", "sent"),
    [
        ((), "lab-7\n", True),
        ((), "y\n", False),
        ((), "", False),
        (("--yes",), "", False),
        (("--yes-destroy",), "", True),
    ],
)
def test_what_left_the_design_is_not_erased_unasked(
    slipway: Slipway, server: Server, options: tuple[str, ...], answer: str, sent: bool
) -> None:
    server.foresee(deployed=("old",), removed=("old",))
    if sent:
        server.on("POST", "/actions", action(), 201)
    result = slipway("create", "action", "update_site", "--prune", "--site", "lab-7", *options, stdin=answer)
    assert result.exit_code == (0 if sent else 1), result.stderr
    asks = "--yes-destroy" not in options
    assert ("old of site lab-7 at http://127.0.0.1:1 will be erased" in result.stderr) is asks
    if sent:
        assert json.loads(server.request.body) == {"name": "update_site", "parameters": {"prune": True}}


def test_rule_11_nodes_that_would_be_erased_first_are_asked_about(
    slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slipway_cli.online.actions.create.is_terminal", lambda: True)
    server.foresee(released=("n3",))
    result = slipway("create", "action", "update_site", stdin="n\n")
    assert result.exit_code == 1
    assert "released first: n3" in result.stderr
    assert "update_site of site default at http://127.0.0.1:1: go on?" in result.stderr


def test_a_version_of_the_states_of_nodes_is_sent_if_it_is_given(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/actions", action(), 201)
    options = ("deploy_site", "--dry-run", "--site-state")
    assert slipway("create", "action", *options, "1763836800.7").exit_code == 0
    assert json.loads(server.request.body)["site_state"] == {"epoch": 1763836800, "version": 7}
    for wrong in ("7", "1.", "a.b", "1.2.3", "-1.2"):
        refused = slipway("create", "action", *options, wrong)
        assert refused.exit_code == 2
        assert "write EPOCH.VERSION" in refused.stderr
