"""A provisioner's tree of tasks as entries: what each shows, and what of it may be followed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import jsonschema_rs
import pytest

from provisioner_client.protocol import ProvisionerTask, TaskLink, TaskMessage, TaskResult, TaskState, TaskTree
from site_engine.operations.provisioner_tasks import MOST_CHILDREN, NEVER_ENDED, task_entry, web_address
from strategy_lib.status.entry import entry_to_dict
from strategy_lib.status.words import Status
from tests.conftest import ROOT

RUNNING, QUEUED, COMPLETE = TaskState.RUNNING, TaskState.QUEUED, TaskState.COMPLETE
BOTH = frozenset({"n1", "n2"})


def tree(
    state: TaskState = COMPLETE,
    result: TaskResult = TaskResult.SUCCESS,
    *children: TaskTree,
    name: str = "deploy_nodes",
    good: str = "",
    bad: str = "",
    said: str = "",
    **more: Any,
) -> TaskTree:
    messages = (TaskMessage(said, True, None, None),) if said else ()
    task = ProvisionerTask("t", name, state, result, frozenset(good.split()), frozenset(bad.split()), messages, None)
    return TaskTree(task, more.pop("nodes", BOTH), children=children, **more)


@pytest.mark.parametrize(
    ("shown", "node", "status"),
    [
        pytest.param(tree(QUEUED, TaskResult.INCOMPLETE), "n1", Status.PENDING, id="queued"),
        pytest.param(tree(RUNNING, TaskResult.INCOMPLETE), "n1", Status.PROCESSING, id="running"),
        pytest.param(tree(), None, Status.SUCCESS, id="success"),
        pytest.param(tree(result=TaskResult.PARTIAL_SUCCESS, good="n1", bad="n2"), None, Status.ERROR, id="partial"),
        pytest.param(tree(result=TaskResult.PARTIAL_SUCCESS, good="n1", bad="n2"), "n1", Status.SUCCESS, id="its own"),
        pytest.param(
            tree(result=TaskResult.PARTIAL_SUCCESS, good="n1", bad="n2"), "n2", Status.ERROR, id="its own bad"
        ),
        pytest.param(tree(good="n1", bad="n1"), "n1", Status.ERROR, id="trap 4: in both lists"),
        pytest.param(tree(result=TaskResult.FAILURE), "n1", Status.ERROR, id="failure"),
        pytest.param(tree(result=TaskResult.DEPENDENT_FAILURE), "n1", Status.ERROR, id="dependent failure"),
        pytest.param(tree(result=TaskResult.UNREPORTED), "n1", Status.ERROR, id="says nothing"),
    ],
)
def test_what_a_task_shows(shown: TaskTree, node: str | None, status: Status) -> None:
    assert task_entry(shown, node).status is status


def test_a_task_that_runs_below_one_that_is_over_never_ends() -> None:
    leaf = tree(RUNNING, TaskResult.INCOMPLETE, said="began")
    (stage,) = task_entry(tree(COMPLETE, TaskResult.SUCCESS, tree(RUNNING, TaskResult.INCOMPLETE, leaf))).children
    assert stage.messages == (NEVER_ENDED,)
    assert (stage.children[0].status, stage.children[0].messages) == (Status.ERROR, (NEVER_ENDED, "began"))


def test_names_say_which_attempt_it_is_and_of_which_node() -> None:
    one = tree(name="configure_hardware", nodes=frozenset({"n1"}), attempt=3)
    assert task_entry(one).name == "configure_hardware of n1, attempt 3"
    assert task_entry(one, "n1").name == "configure_hardware, attempt 3"
    assert task_entry(tree()).name == "deploy_nodes"


def test_of_very_many_the_worst_are_kept() -> None:
    many = [tree(nodes=frozenset({f"n{i:04}"})) for i in range(MOST_CHILDREN + 5)]
    many[-1] = tree(result=TaskResult.FAILURE, nodes=frozenset({"bad"}))
    entry = task_entry(tree(COMPLETE, TaskResult.PARTIAL_SUCCESS, *many))
    assert (len(entry.children), entry.left_out) == (MOST_CHILDREN, 5)
    assert entry.children[0].name == "deploy_nodes of bad"


def test_as_plain_data_it_is_an_entry_of_the_tree() -> None:
    links = (TaskLink("log", "https://maas/log"), TaskLink("trap", "javascript:alert(1)"))
    child = tree(result=TaskResult.FAILURE, bad="n1", said="no PXE answer", links=links, created="2026-03-01 12:00:00")
    data = entry_to_dict(task_entry(tree(COMPLETE, TaskResult.FAILURE, child), "n1"), now=datetime.now(UTC))
    jsonschema_rs.validator_for(json.loads((ROOT / "schemas" / "status_tree.json").read_text())).validate(data)
    shown = data["children"][0]
    assert (shown["kind"], shown["status"], shown["messages"]) == ("provisioner_task", "error", ["no PXE answer"])
    assert shown["provisioner"]["links"] == [{"rel": "log", "address": "https://maas/log"}]


@pytest.mark.parametrize(
    ("address", "followed"),
    [
        ("http://maas/log", "http://maas/log"),
        (" https://maas/log ", "https://maas/log"),
        ("javascript:alert(1)", None),
        ("JAVASCRIPT:alert(1)", None),
        ("data:text/html,<script>", None),
        ("//maas/log", None),
        ("/log", None),
        ("http:", None),
        ("http://[", None),
        ("http://maas/\x1b", None),
        (None, None),
    ],
)
def test_only_the_web_is_followed(address: object, followed: str | None) -> None:
    assert web_address(address) == followed
