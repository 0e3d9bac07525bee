"""Drydock's layers of tasks as a tree: of one node alone, with Drydock's own attempts, whatever stands in it."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner_client.drydock.task_tree import task_of_node, tree_from, with_task_of_node
from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.protocol import TaskLink, TaskTree

DESIGN = "http://slipway:8080/slipway/d/0123456789abcdef0123456789abcdef"


def raw(task_id: str, action: str, parent: str | None, *names: str, **more: Any) -> dict[str, Any]:
    """Return a task as Drydock has it; `said` are its messages about nodes, by name."""
    said = [
        {"message": text, "error": True, "context_type": "node", "context": name, "ts": "t"}
        for name, text in more.pop("said", {}).items()
    ]
    started = {"message": f"Started subtask {task_id}x for action {action}", "error": False, "context_type": "task"}
    result = {
        "status": more.pop("result", "success"),
        "links": more.pop("links", []),
        "details": {"messageList": [started, *said]},
    }
    return {
        "task_id": task_id,
        "action": action,
        "parent_task_id": parent,
        "design_ref": DESIGN,
        "status": "complete",
        "result": result,
        "node_filter": {"filter_set": [{"node_names": list(names)}]},
        "created": f"2026-03-01 12:00:0{len(task_id)}",
        "retry": 0,
    } | more


def layers(*tasks: dict[str, Any]) -> dict[str, Any]:
    return {"init_task_id": tasks[0]["task_id"], **{task["task_id"]: task for task in tasks}, "subtask_errors": {}}


def outline(tree: TaskTree) -> Any:
    said = [message.text for message in tree.task.messages]
    return (tree.task.task_id, tree.task.action, said, [outline(child) for child in tree.children])


SEVERAL = layers(
    raw("r", "prepare_nodes", None, "n1", "n2", said={"n1": "n1 is bad", "n2": "n2 is bad"}),
    raw("a1", "prepare_nodes", "r", "n1"),
    raw("b1", "prepare_nodes", "r", "n2"),
    raw("b22", "configure_hardware", "b1", "n2", said={"n2": "no answer"}, result="failure"),
    raw("b333", "configure_hardware", "b22", "n2", retry=1),
)


def test_of_one_node_others_are_left_out_and_so_is_that_tasks_were_started() -> None:
    tree = tree_from(SEVERAL, "r", "n2")
    assert outline(tree) == (
        "r", "prepare_nodes", ["n2 is bad"], [
            ("b1", "prepare_nodes", [], [
                ("b22", "configure_hardware", ["no answer"], [("b333", "configure_hardware", [], [])]),
            ]),
        ],
    )  # fmt: skip
    assert tree.children[0].children[0].children[0].attempt == 2


def test_of_all_nodes_nothing_is_left_out() -> None:
    tree = tree_from(SEVERAL, "r")
    assert [child.task.task_id for child in tree.children] == ["a1", "b1"]
    assert [message.text for message in tree.task.messages] == ["n1 is bad", "n2 is bad"]
    assert tree.nodes == {"n1", "n2"}


def test_the_task_of_a_node_is_read_by_itself_and_put_into_its_place() -> None:
    flat = layers(*(SEVERAL[task_id] for task_id in ("r", "a1", "b1")))
    tree = tree_from(flat, "r", "n2")
    assert task_of_node(tree, "n2") == "b1"
    own = tree_from(layers(SEVERAL["b1"], SEVERAL["b22"], SEVERAL["b333"]), "b1", "n2")
    assert outline(with_task_of_node(tree, own)) == outline(tree_from(SEVERAL, "r", "n2"))


def test_one_driver_task_for_all_nodes_is_the_task_of_none() -> None:
    driver = layers(
        raw("r", "destroy_nodes", None, "n1", "n2"),
        raw("d1", "destroy_node", "r", "n1", "n2"),
        raw("l11", "destroy_node", "d1", "n1"),
        raw("l22", "destroy_node", "d1", "n2", said={"n2": "stays"}, result="failure"),
    )
    tree = tree_from(driver, "r", "n2")
    assert task_of_node(tree, "n2") is None
    assert outline(tree) == (
        "r", "destroy_nodes", [], [("d1", "destroy_node", [], [("l22", "destroy_node", ["stays"], [])])]
    )  # fmt: skip


def test_what_cannot_be_read_below_the_root_is_left_out_and_a_circle_ends() -> None:
    odd = layers(
        raw("r", "prepare_nodes", None, "n1"),
        raw("x1", "prepare_nodes", "r", "n1", status="somehow"),
        raw("y1", "verify", "r", "n1", node_filter="?", created=None, retry="?"),
        raw("z22", "verify", "z22", "n1"),
    )
    tree = tree_from(odd, "r", "n1")
    assert [(child.task.task_id, child.nodes, child.attempt, child.created) for child in tree.children] == [
        ("y1", frozenset(), 1, None)
    ]


def test_a_plain_task_where_layers_are_not_known() -> None:
    assert outline(tree_from(raw("r", "verify_site", None), "r")) == ("r", "verify_site", [], [])


@pytest.mark.parametrize("data", [[], {}, {"init_task_id": "other"}, {"r": {"task_id": "r", "status": "?"}}])
def test_what_is_no_tree_is_refused(data: Any) -> None:
    with pytest.raises(ProvisionerProtocolError):
        tree_from(data, "r")


def test_links_come_as_they_are_but_never_the_address_of_the_design() -> None:
    links = [
        {"rel": "detail_logs", "href": "http://maas/log"},
        {"href": f"{DESIGN}/x"},
        {"rel": "no address"},
        "nothing",
    ]
    tree = tree_from(raw("r", "deploy_nodes", None, links=links), "r")
    assert tree.links[0] == TaskLink("detail_logs", "http://maas/log")
    assert "0123456789abcdef" not in tree.links[1].address
    assert len(tree.links) == 2
