"""What a provisioner says goes into logs, events and reports: it repeats no secret of the design."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from design_rendering.redaction import Redactor
from provisioner_client.designs import DesignMessage, DesignSource, DesignValidation
from provisioner_client.errors import ProvisionerRefused, ProvisionerUnavailable
from provisioner_client.protocol import (
    ListedNode,
    Provisioner,
    ProvisionerTask,
    TaskLink,
    TaskMessage,
    TaskRef,
    TaskResult,
    TaskState,
    TaskTree,
)
from provisioner_client.redacting import RedactingProvisioner
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Evidence

SECRET = "hunter2hunter2"


def redacting(**methods: Any) -> RedactingProvisioner:
    """Return a redacting provisioner around one that has these methods."""
    return RedactingProvisioner(cast(Provisioner, SimpleNamespace(**methods)), Redactor({SECRET}).redact)


def talking_task(*texts: str) -> ProvisionerTask:
    """Return a task of a provisioner that says this."""
    messages = tuple(TaskMessage(text=text, error=True, context=None, at=None) for text in texts)
    state = TaskState.COMPLETE
    return ProvisionerTask(
        "t", "prepare_nodes", state, TaskResult.FAILURE, frozenset(), frozenset(), messages, "slipway-a-1"
    )


def test_tasks_and_evidence() -> None:
    said = redacting(
        task=lambda _, **__: talking_task(f"bad {SECRET}"),
        find=lambda _: talking_task(f"worse {SECRET}"),
        evidence=lambda *_, **__: Evidence(over=True, messages={"n1": f"IPMI refuses {SECRET}"}),
    )
    found = said.find("r")
    assert [message.text for message in said.task(TaskRef("t")).messages] == ["bad ***"]
    assert found is not None
    assert [message.text for message in found.messages] == ["worse ***"]
    assert said.evidence(TaskRef("t"), ["n1"]).messages == {"n1": "IPMI refuses ***"}


def test_a_tree_of_tasks_down_to_its_leaves() -> None:
    links = (TaskLink(f"log {SECRET}", f"http://logs/{SECRET}"),)
    leaf = TaskTree(talking_task(f"worse {SECRET}"), frozenset({"n1"}), links=links)
    root = TaskTree(talking_task(f"bad {SECRET}"), frozenset(), children=(leaf,))
    said = redacting(task_tree=lambda *_, **__: root).task_tree(TaskRef("t"), "n1")
    assert [message.text for message in said.task.messages] == ["bad ***"]
    assert [message.text for message in said.children[0].task.messages] == ["worse ***"]
    assert said.children[0].links == (TaskLink("log ***", "http://logs/***"),)


def test_remarks_on_a_design() -> None:
    remarks = DesignValidation(False, (DesignMessage("Error", f"{SECRET} is too short", (f"a/B/v1/{SECRET}",)),))
    assert (
        redacting(validate_design=lambda _: remarks).validate_design(DesignSource("d")).messages[0].text
        == "*** is too short"
    )


def test_words_about_nodes_and_the_sentence_of_a_check() -> None:
    said = redacting(
        nodes=lambda _: {"n1": ListedNode("n1", NodeCondition.OTHER, f"Odd {SECRET}", f"off {SECRET}")},
        evidence=lambda *_, **__: Evidence(over=True, status_names={"n1": f"Odd {SECRET}"}),
        check=lambda: f"answers {SECRET}.",
        power_on=lambda nodes: dict.fromkeys(nodes, f"no power {SECRET}"),
    )
    listed = said.nodes()["n1"]
    assert (listed.name, listed.status_name, listed.power_state) == ("n1", "Odd ***", "off ***")
    assert said.evidence(TaskRef("t"), ["n1"]).status_names == {"n1": "Odd ***"}
    assert said.check() == "answers ***."
    assert said.power_on(["n1"]) == {"n1": "no power ***"}


def test_errors_and_what_they_were_raised_from() -> None:
    def nodes(_: object) -> None:
        try:
            raise ProvisionerRefused(f"inner {SECRET}")
        except ProvisionerRefused as refusal:
            raise ProvisionerUnavailable(f"outer {SECRET}", status=500) from refusal

    with pytest.raises(ProvisionerUnavailable) as raised:
        redacting(nodes=nodes).nodes()
    assert SECRET not in f"{raised.value} {raised.value!r} {raised.value.__cause__!r}"
    assert (raised.value.detail, raised.value.status) == ("outer ***", 500)


def test_the_design_is_read_only_when_there_are_words_to_look_through() -> None:
    def never(text: str) -> str:
        raise AssertionError(f"the secrets are read for nothing: {text!r}")

    quiet = SimpleNamespace(
        task=lambda _, **__: talking_task(), evidence=lambda *_, **__: Evidence(over=False), nodes=lambda _: {}
    )
    silent = RedactingProvisioner(cast(Provisioner, quiet), never)
    assert silent.task(TaskRef("t")).messages == ()
    assert silent.evidence(TaskRef("t"), []).messages == {}
    assert silent.nodes() == {}
