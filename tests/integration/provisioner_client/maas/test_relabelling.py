"""Labels of a design as tags and annotations in MAAS, and nodes that are selected by them."""

from __future__ import annotations

import pytest

from provisioner_client.maas.inventory import LabelWords
from provisioner_client.simulator.http.answer import Answer
from strategy_lib.phase import Phase
from strategy_lib.strategy import Label, Selector
from tests.integration.provisioner_client.maas.conftest import NAMES, Admin, Finish, Outcome
from tests.support.maas_clients import Wire, client, design

pytestmark = pytest.mark.usefixtures("wire")


def test_a_locked_machine_keeps_no_other_from_its_labels(run: Outcome, wire: Wire, admin: Admin) -> None:
    """MAAS takes annotations of a locked one as little as a release; its tags are no matter of the machine."""
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    owner = client()
    machines = {one.name: one for one in owner._api.machines_of("hostname", ["m0001", "m0002"])}
    owner._api.act(machines["m0001"].system_id, "lock", [])
    labelled = design(dict.fromkeys(machines, "{labels: {role: ctl}}"))
    judged, _ = run(Phase.RELABEL, "slipway-a-3", [*machines], source=labelled)
    assert (judged.failed, judged.succeeded) == ({"m0001"}, {"m0002"})
    assert judged.notes["m0001"] == "m0001 is Deployed and locked in MAAS: unlock it there"


def test_labels_are_tags_of_machines_and_annotations_of_ours(run: Outcome, wire: Wire, finish: Finish) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2", ["m0001"])
    for number, role in enumerate(("control", "compute")):
        source = design({"m0001": f"{{tags: [gpu], labels: {{role: {role}}}}}", "m0002": "{labels: {role: compute}}"})
        worker = client()
        wire.seen.clear()
        worker.submit(Phase.RELABEL, source, ["m0001", "m0002"], f"slipway-b-{number}")
        assert finish(worker, f"slipway-b-{number}", Phase.RELABEL, source).successes == {"m0001", "m0002"}
    assert sum("role__compute/op-update_nodes" in one for one in wire.changes) == 1, "one request per tag"
    machines = {one.name: one for one in client()._api.machines()}
    assert {"gpu", "role__compute"} <= machines["m0001"].tags
    assert "role__control" not in machines["m0001"].tags
    data = client()._api.http.get(f"/api/2.0/machines/{machines['m0001'].system_id}/").data
    assert data["workload_annotations"] == {"role": "compute"}


def test_nodes_are_selected_by_the_design_and_by_the_tags_of_maas(run: Outcome, finish: Finish) -> None:
    source = design({"m0001": "{labels: {role: control}}", "m0002": "{}"})
    worker = client(words=LabelWords(template="{key}-{value}"))
    worker.submit(Phase.RELABEL, source, ["m0001"], "slipway-a-1")
    finish(worker, "slipway-a-1", Phase.RELABEL, source)
    unlabelled = design({"m0001": "{}", "m0002": "{}", "m0099": "{}"})
    choose = client(words=LabelWords(template="{key}-{value}")).select_nodes
    assert choose(unlabelled, [Selector(node_labels=(Label("role", "control"),))]) == {"m0001"}
    assert choose(unlabelled, [Selector()]) == {"m0001", "m0002"}, "those that MAAS has"


def test_a_relabelling_leaves_the_tag_that_limits_the_site(run: Outcome, finish: Finish, admin: Admin) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    api, task = client()._api, "slipway-01HZX7Q3N5V8W9Y0A1B2C3D4E5-7"
    ids = [one.system_id for one in api.machines()]
    for tag in ("site__north", task):
        api.make_tag(tag, "")
        api.tag_machines(tag, add=ids)
    worker = client(tag="site__north", words=LabelWords(template="{key}-{value}"))
    source = design({"m0001": "{labels: {site_: south, slipway: x}}"})
    worker.submit(Phase.RELABEL, source, ["m0001"], "slipway-a-2")
    finish(worker, "slipway-a-2", Phase.RELABEL, source)
    worker = client(tag="site__north")
    source = design({"m0001": "{labels: {site: south}}"})
    worker.submit(Phase.RELABEL, source, ["m0001"], "slipway-a-3")
    assert finish(worker, "slipway-a-3", Phase.RELABEL, source).successes == {"m0001"}
    (machine,) = worker._api.machines_of("hostname", ["m0001"])
    assert {"site__north", "site__south", task} <= machine.tags


def test_a_label_that_maas_does_not_take_fails_its_machine_alone(run: Outcome, wire: Wire, finish: Finish) -> None:
    run(Phase.PREPARE, "slipway-a-1")
    run(Phase.DEPLOY, "slipway-a-2")
    ids = {one.name: one.system_id for one in client()._api.machines()}

    def refuse(_method: str, path: str, _number: int) -> str | Answer:
        refused = (f"{ids['m0002']}/op-set_workload_annotations", "tags/bad/op-update_nodes")
        return Answer(403, b"no") if path.endswith(refused) else ""

    wire.cut = refuse
    labels = "{labels: {role: compute, op: release}}"
    source = design({"m0001": labels, "m0002": labels, "m0003": "{tags: [bad]}"})
    worker = client()
    worker.submit(Phase.RELABEL, source, NAMES, "slipway-a-3")
    task = finish(worker, "slipway-a-3", Phase.RELABEL, source)
    assert task.successes == {"m0001"}
    assert {message.context: message.text for message in task.messages} == {
        "m0002": "MAAS refuses to relabel m0002: no",
        "m0003": "MAAS refuses the tag bad: no",
    }
    sent = [form for path, form in wire.forms if path.endswith("op-set_workload_annotations")]
    assert sent == [{"role": ["compute"]}] * 2, "`op` would be an operation"
