"""Reading a whole design (rule 22), and the real sites that the project was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from design_rendering.design import read_design
from design_rendering.reading.documents import DocumentError, load_documents
from design_rendering.redaction import redacted_text
from design_rendering.rendering import design_text, render
from strategy_lib.errors import StrategyError, StrategyLibError
from strategy_lib.selectors import resolve
from strategy_lib.simulation import rehearse
from tests.support.designs import validate

NODE = "---\nschema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n"


def strategy(name: str, group: str) -> str:
    return f"""---
schema: shipyard/DeploymentStrategy/v1
metadata: {{name: {name}}}
data:
  groups:
  - {{name: {group}, critical: true, depends_on: [], selectors: [], success_criteria: {{maximum_failed_nodes: 0}}}}
"""


def configuration(settings: str) -> str:
    return f"""---
schema: shipyard/DeploymentConfiguration/v1
metadata: {{name: deployment-configuration}}
data:
  physical_provisioner: {settings}
"""


def test_rule_03_a_cycle_of_nodes_is_told_with_all_other_problems() -> None:
    """Neither an unknown name nor a problem elsewhere hides it, as the nodes are known."""
    nodes = NODE.replace("name: n1", "name: n1, depends_on_nodes: [n2, n3]")
    nodes += NODE.replace("name: n1", "name: n2, depends_on_nodes: [n1]")
    with pytest.raises(DocumentError) as error:
        read_design(load_documents(nodes + configuration("{deploy_timeout: soon}")))
    said = [problem.message for problem in error.value.problems]
    assert len(said) == 3
    assert said[1:] == [
        "there is no node 'n3'; name a node of this site",
        "nodes that depend on each other: n1 -> n2 -> n1",
    ]
    with pytest.raises(DocumentError) as error:
        read_design(load_documents(nodes + NODE.replace("{name: n1}", "{}")))
    assert not [problem for problem in error.value.problems if "n3" in problem.message], "not all names are known"


@pytest.mark.parametrize("settings", ["", configuration("{}"), configuration("{deploy_timeout: 60}")])
def test_rule_22_no_name_is_the_strategy_of_the_usual_name_or_else_the_default_group(settings: str) -> None:
    other = strategy("other", "b")
    design = read_design(load_documents(NODE + strategy("deployment-strategy", "mine") + other + settings))
    assert [group.name for group in design.strategy.groups] == ["mine"]
    assert design.warnings == ()
    for there in (other, ""):
        design = read_design(load_documents(NODE + there + settings))
        assert [group.name for group in design.strategy.groups] == ["default"]
        assert resolve(design.strategy, design.nodes) == {"default": {"n1"}}


def test_rule_22_the_strategy_of_the_usual_name_is_read_where_the_configuration_names_none() -> None:
    broken = strategy("deployment-strategy", "a").replace("critical: true", "critical: 1")
    with pytest.raises(StrategyError):
        read_design(load_documents(NODE + broken + configuration("{}")))


def test_the_configuration_names_the_strategy() -> None:
    text = NODE + strategy("s1", "a") + strategy("s2", "b") + configuration("{deployment_strategy: s2}")
    design = read_design(load_documents(text))
    assert [group.name for group in design.strategy.groups] == ["b"]
    assert design.configuration.deployment_strategy == "s2"
    assert set(design.plain_digests) == {"n1"}
    assert [node.name for node in design.nodes] == ["n1"]
    assert design.warnings == ()


def test_a_named_strategy_that_is_missing() -> None:
    text = NODE + strategy("s1", "a") + configuration("{deployment_strategy: s2}")
    with pytest.raises(DocumentError) as caught:
        read_design(load_documents(text, "site.yaml"))
    (problem,) = caught.value.problems
    assert str(problem) == (
        "site.yaml:15: $.data.physical_provisioner.deployment_strategy: "
        "there is no shipyard/DeploymentStrategy/v1 named 's2'; there are s1"
    )


def test_one_wrong_part_raises_its_own_error_and_several_raise_all() -> None:
    broken = strategy("s", "a").replace("critical: true", "critical: 1")
    with pytest.raises(StrategyError):
        read_design(load_documents(NODE + broken + configuration("{deployment_strategy: s}")))
    twice = NODE + NODE + broken + configuration("{deployment_strategy: s}")
    with pytest.raises(DocumentError) as caught:
        read_design(load_documents(twice))
    assert len(caught.value.problems) == 2


CYCLE = """---
schema: shipyard/DeploymentStrategy/v1
metadata: {name: s}
data:
  groups:
  - {name: a, critical: true, depends_on: [b], selectors: []}
  - {name: b, critical: true, depends_on: [a], selectors: []}
"""


def paths_of(text: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read_design(load_documents(text))
    return [problem.path.removeprefix("$.data.") for problem in caught.value.problems]


def test_rule_03_configuration_and_strategy_problems_together() -> None:
    both = NODE + CYCLE + configuration("{deployment_strategy: s, deploy_timeout: -1}")
    assert paths_of(both) == ["physical_provisioner.deploy_timeout", "groups[0].depends_on[0]"]
    missing = NODE + CYCLE + configuration("{deployment_strategy: gone, deploy_timeout: -1}")
    assert paths_of(missing) == ["physical_provisioner.deploy_timeout", "physical_provisioner.deployment_strategy"]


@pytest.mark.parametrize(
    "twice",
    [
        configuration("{deployment_strategy: s}").replace("name: deployment", "name: other"),
        strategy("t", "c") * 2,
        "---\nschema: drydock/Network/v1\nmetadata: {name: n}\ndata: {}\n" * 2,
        NODE,
    ],
    ids=["configuration", "strategy", "network", "node"],
)
def test_rule_03_a_document_that_is_there_twice_hides_no_other_problem(twice: str) -> None:
    found = paths_of(NODE + CYCLE + configuration("{deployment_strategy: s}") + twice)
    assert sorted(found) == ["$", "groups[0].depends_on[0]"]


@pytest.mark.parametrize("name", ["5", "''", "null", "[s]"])
def test_rule_03_a_name_that_is_none_leads_to_no_strategy(name: str) -> None:
    with pytest.raises(StrategyLibError) as caught:
        read_design(load_documents(NODE + CYCLE + configuration(f"{{deployment_strategy: {name}}}")))
    (problem,) = caught.value.problems
    assert problem.path == "$.data.physical_provisioner.deployment_strategy"


def test_rule_22_strategies_are_warned_about_when_none_of_them_is_used() -> None:
    def unused(text: str) -> list[str | None]:
        warnings = read_design(load_documents(text, "site.yaml")).warnings
        return [warning.document for warning in warnings if warning.message.startswith("a deployment would not use")]

    label = "site.yaml: shipyard/DeploymentStrategy/v1 mine"
    assert unused(NODE + strategy("mine", "a")) == [label]
    assert unused(NODE + strategy("mine", "a") + configuration("{}")) == [label]
    assert unused(NODE + strategy("mine", "a") + strategy("deployment-strategy", "b")) == []
    assert unused(NODE + strategy("deployment-strategy", "b") + configuration("{}")) == []
    assert unused(NODE + strategy("mine", "a") + strategy("s", "b") + configuration("{deployment_strategy: s}")) == []


def test_warnings_are_part_of_the_design() -> None:
    lonely = strategy("deployment-strategy", "a").replace("selectors: []", "selectors: [{node_names: [zz]}]")
    design = read_design(load_documents(NODE + lonely, "site.yaml"))
    assert [str(warning).split(": ")[-1] for warning in design.warnings] == ["group 'a' matches no node", "n1"]
    assert {warning.source for warning in design.warnings} == {"site.yaml"}


SITES = Path(__file__).resolve().parents[4] / "shared" / "sites"


@pytest.mark.skipif(not SITES.is_dir(), reason="../shared is absent")
@pytest.mark.parametrize(("name", "selectors", "profiles"), [("seaworthy", 2, 3), ("airsloop", 1, 1)])
def test_real_sites_render_as_they_are_written(name: str, selectors: int, profiles: int) -> None:
    text = (SITES / f"{name}.yaml").read_text("utf-8")
    read = load_documents(text, f"{name}.yaml")
    made = render(read)
    assert not any(one.changed for one in made.documents)
    assert [one.document for one in made.documents] == read
    found = [warning.path.rpartition(".")[2] for warning in made.warnings]
    assert found == ["parentSelector"] * selectors + ["src", "src"]
    assert [one.data for one in load_documents(design_text(made))] == [one.data for one in read]
    assert redacted_text(text, read).count("[redacted]") == profiles


@pytest.mark.skipif(not (SITES / "full").is_dir(), reason="../shared/sites/full is absent")
@pytest.mark.parametrize(
    ("name", "written", "rendered", "members", "repeated"),
    [
        ("airship-seaworthy-v18.11.01", 396, 379, {"masters": 2, "workers": 3}, 4),
        ("airsloop-v1.9", 427, 381, {"masters": 0, "workers": 1}, 0),
    ],
)
def test_whole_document_sets_render_as_they_are(
    name: str, written: int, rendered: int, members: dict[str, int], repeated: int
) -> None:
    read = load_documents((SITES / "full" / f"{name}.yaml").read_bytes(), name)
    made = render(read)
    assert (len(read), len(made.documents)) == (written, rendered)
    assert sum("already there" in warning.message for warning in made.warnings) == len(made.warnings) == repeated
    # The patterns of dest.recurse are gone, those in what is not rendered with them.
    text = design_text(made)
    assert "CIRROS_IMAGE_LOCATION" not in text
    assert "SECCOMP_PROFILE_ROOT" not in text
    again = load_documents(text)
    assert [one.data for one in again] == [one.document.data for one in made.documents]
    assert not any(one.warnings for one in again)
    assert [problem for problem in validate(read) if problem.level == "error"] == []
    design = read_design(again)
    assert {group: len(nodes) for group, nodes in resolve(design.strategy, design.nodes).items()} == members


@pytest.mark.skipif(not SITES.is_dir(), reason="../shared is absent")
@pytest.mark.parametrize(
    ("name", "members", "warnings"),
    [
        (
            "seaworthy",
            {
                "masters": {"cab23-r720-12", "cab23-r720-13"},
                "workers": {"cab23-r720-14", "cab23-r720-16", "cab23-r720-17"},
            },
            [],
        ),
        (
            "airsloop",
            {"masters": set(), "workers": {"airsloop-compute-1"}},
            ["group 'masters' matches no node"],
        ),
    ],
)
def test_real_site(name: str, members: dict[str, set[str]], warnings: list[str]) -> None:
    read = load_documents((SITES / f"{name}.yaml").read_bytes(), f"{name}.yaml")
    assert [problem for problem in validate(read) if problem.level == "error"] == []
    design = read_design(read)
    assert design.configuration.deployment_strategy == "deployment-strategy"
    assert design.configuration.join_wait == 0
    assert resolve(design.strategy, design.nodes) == members
    assert [warning.message for warning in design.warnings] == warnings
    assert set(design.plain_digests) == {node.name for node in design.nodes}
    assert all(node.rack and node.labels for node in design.nodes)
    assert rehearse(design.strategy, design.nodes).deployment.verdict == "success"
