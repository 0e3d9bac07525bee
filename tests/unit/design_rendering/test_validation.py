"""Validating documents: what refuses a commit, deserves a second look, is a secret that all see, or a foreign kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
import yaml

from design_rendering.kinds.provisioner_kinds import provisioner_problems
from design_rendering.reading.documents import Document, load_documents
from design_rendering.rendering import render
from design_rendering.validation import Validation, exposed_secrets, validate_rendering
from strategy_lib.errors import Problem
from tests.support.designs import child, documents, layered, parent, substitution, validate
from tests.support.sites import document, group, node, site

STRATEGY = "shipyard/DeploymentStrategy/v1"
CONFIGURATION = "shipyard/DeploymentConfiguration/v1"
PASSPHRASE = "deckhand/Passphrase/v1"
GROUP = {"name": "one", "critical": True, "depends_on": [], "selectors": []}
FROM_SECRET = substitution("pw", ".", ".groups[0].name", schema=PASSPHRASE)
SECRET = layered("pw", "site", "hunter2", schema=PASSPHRASE, storagePolicy="encrypted")
ABOVE = parent({"groups": [GROUP]}, schema=STRATEGY, storagePolicy="encrypted")


def _read(documents: Iterable[dict[str, Any]]) -> list[Document]:
    return load_documents(yaml.safe_dump_all(list(documents), explicit_start=True), "site")


def _whole(text: str, *left_out: str, more: Iterable[dict[str, Any]] = ()) -> list[Document]:
    entries = [entry for entry in yaml.safe_load_all(text) if entry["schema"] not in left_out]
    return _read([*entries, *more])


def whole(documents: Sequence[Document], most_groups: int | None = None) -> Validation:
    return validate_rendering(render(documents), most_groups=most_groups)


def draft(documents: Sequence[Document]) -> list[Problem]:
    return validate(documents, draft=True)


def _said(result: Validation, level: str) -> list[str]:
    return [problem.message for problem in result.problems if problem.level == level]


GOOD = site([node("n1"), node("n2")], [group("all", percent_successful_nodes=50)])


def test_a_good_site_gives_its_design_and_no_problem() -> None:
    result = whole(_whole(GOOD), most_groups=1)
    assert result.problems == ()
    assert result.design is not None
    assert [entry.name for entry in result.design.nodes] == ["n1", "n2"]


def test_a_site_without_nodes_is_refused() -> None:
    result = whole(_whole(GOOD, "drydock/BaremetalNode/v1"))
    assert any("nothing to deploy" in text for text in _said(result, "error"))


def test_abstract_nodes_are_no_nodes() -> None:
    base = document("drydock/BaremetalNode/v1", "base", {}, layeringDefinition={"abstract": True, "layer": "global"})
    assert any("nothing to deploy" in text for text in _said(whole(_read([base])), "error"))


def test_a_site_without_groups_is_refused_once() -> None:
    result = whole(_whole(site([node("n1")], [])))
    assert _said(result, "error") == ["there are no groups: nothing would be deployed"]
    assert result.problems[0].path == "$.data.groups"
    assert result.problems[0].line is not None


def test_more_groups_than_airflow_maps_are_refused_at_the_strategy_that_is_used() -> None:
    text = site([node("n1")], [group(f"g{number}", percent_successful_nodes=1) for number in range(3)])
    spare = document("shipyard/DeploymentStrategy/v1", "a-spare", {"groups": []})
    result = whole(_whole(text, more=[spare]), most_groups=2)
    (told,) = [problem for problem in result.problems if problem.level == "error"]
    assert "3 groups" in told.message
    assert "max_map_length" in told.message
    assert told.document is not None
    assert told.document.endswith("deployment-strategy")
    assert whole(_whole(text, more=[spare]), most_groups=3).design is not None


def test_a_missing_host_profile_is_an_error_here_and_a_warning_in_a_draft() -> None:
    documents = _whole(GOOD, "drydock/HostProfile/v1")
    assert [text for text in _said(whole(documents), "error") if "host profile 'compute'" in text]
    assert {problem.level for problem in draft(documents)} == {"warning"}


@pytest.mark.parametrize(
    ("data", "missing"),
    [
        ({"hardware_profile": "dell"}, "there is no drydock/HardwareProfile/v1 named 'dell'"),
        ({"primary_network": "mgmt"}, "there is no drydock/Network/v1 named 'mgmt'"),
        ({"interfaces": {"e1": {"device_link": "pxe"}}}, "there is no drydock/NetworkLink/v1 named 'pxe'"),
    ],
)
def test_what_is_referred_to_and_missing_is_warned_about(data: dict[str, Any], missing: str) -> None:
    profile = document("drydock/HostProfile/v1", "other", data)
    result = whole(_whole(GOOD, more=[profile]))
    assert _said(result, "warning") == [missing]
    assert result.design is not None


def test_what_is_removed_from_what_is_inherited_needs_not_be_there() -> None:
    removed = {"hardware_profile": "!", "primary_network": "!", "interfaces": {"e1": {"networks": ["!mgmt"]}}}
    profile = document("drydock/HostProfile/v1", "other", {"host_profile": "compute", **removed})
    assert whole(_whole(GOOD, more=[profile])).problems == ()


def test_what_a_group_matches_is_not_judged_while_labels_are_unknown() -> None:
    wanted = {**group("g"), "selectors": [{"node_labels": ["role: compute"]}, {"node_tags": ["t"]}]}
    documents = _whole(site([node("n1", profile="gone")], [wanted]))
    found = [problem.message for problem in draft(documents)]
    assert not any(words in text for text in found for words in ("matches no", "no node has", "in no group"))
    assert [text for text in found if "no host profile 'gone'" in text]


BAD = document("shipyard/DeploymentStrategy/v1", "spare", {"groups": [group("a", after=["ghost"])]})


@pytest.mark.parametrize("judge", [draft, validate])
def test_an_unused_strategy_with_errors_is_a_warning(judge: Callable[[list[Document]], list[Problem]]) -> None:
    found = [problem for problem in judge(_whole(GOOD, more=[BAD])) if "ghost" in problem.message]
    assert [problem.level for problem in found] == ["warning"]
    assert found[0].message.startswith("there is no group 'ghost'")
    unnamed = _whole(GOOD, "shipyard/DeploymentConfiguration/v1", more=[BAD])
    assert [problem.level for problem in judge(unnamed) if "ghost" in problem.message] == ["warning"]
    alone = _whole(GOOD, "shipyard/DeploymentStrategy/v1", "shipyard/DeploymentConfiguration/v1", more=[BAD])
    assert [problem.level for problem in judge(alone) if "ghost" in problem.message] == ["warning"]


def test_a_strategy_that_may_well_be_used_keeps_its_errors() -> None:
    drafts = (_read([BAD]), _whole(GOOD, "shipyard/DeploymentStrategy/v1", more=[BAD]))
    for each in drafts:
        assert [problem.level for problem in draft(each) if "ghost" in problem.message] == ["error"]


def test_a_missing_network_that_all_use_is_told_once() -> None:
    text = site([node(f"n{number}") for number in range(50)], [group("all", percent_successful_nodes=1)])
    entries = [entry for entry in _whole(text) if entry.schema != "drydock/Network/v1"]
    assert _said(whole(entries), "warning") == [
        "there is no drydock/Network/v1 named 'oob', and 49 more documents refer to it"
    ]


def test_all_problems_are_found_at_once() -> None:
    configuration = document(
        "shipyard/DeploymentConfiguration/v1",
        "deployment-configuration",
        {"physical_provisioner": {"deployment_strategy": "ghost", "deploy_interval": -1, "verify_timeout": "soon"}},
    )
    strategy = document(
        "shipyard/DeploymentStrategy/v1",
        "deployment-strategy",
        {"groups": [group("a", after=["a"]), group("a", ["nobody"]), {"name": "b"}]},
    )
    broken = [configuration, strategy, node("n1", profile="ghost"), node("n2", rack=7)]  # type: ignore[arg-type]
    errors = " | ".join(_said(whole(_read(broken)), "error"))
    for expected in (
        "'ghost'; there",
        "from 1 to 315360000, not -1",
        "'soon'",
        "depends on itself",
        "already taken",
        "critical is missing",
    ):
        assert expected in errors
    for expected in ("the name of a rack", "there is no host profile 'ghost'"):
        assert expected in errors


def test_problems_stand_in_the_order_of_files_and_lines() -> None:
    first = load_documents(yaml.safe_dump(node("n1", profile="ghost")), "b-first")
    second = load_documents(yaml.safe_dump(node("n2", profile="ghost")), "a-second")
    sources = [problem.source for problem in whole([*first, *second]).problems if problem.source]
    assert sources == sorted(sources, reverse=True)
    assert draft([]) == []
    assert isinstance(whole([]).problems[0], Problem)


def strategy(schema: str = STRATEGY, **metadata: Any) -> dict[str, Any]:
    return layered("deployment-strategy", "site", {"groups": [GROUP]}, schema=schema, **metadata)


def exposed(*design: dict[str, Any]) -> list[str]:
    read = documents(*design)
    found = exposed_secrets(render(read))
    assert all(problem.level == "error" and problem.line for problem in found)
    assert {*map(str, found)} <= {*map(str, validate(read, draft=True))}
    assert {*map(str, found)} <= {*map(str, validate(read))}
    return [problem.path for problem in found]


@pytest.mark.parametrize("schema", [STRATEGY, CONFIGURATION])
def test_a_secret_in_a_group_or_setting_is_an_error(schema: str) -> None:
    assert exposed(SECRET, strategy(schema, substitutions=[FROM_SECRET])) == ["$.data.groups[0].name"]
    assert exposed(strategy(schema, storagePolicy="encrypted")) == ["$.metadata.storagePolicy"]


def test_an_inherited_secret_is_an_error() -> None:
    assert exposed(ABOVE, child("deployment-strategy", {"x": 1}, schema=STRATEGY)) == ["$.data"]


def test_a_group_in_plain_is_none_and_neither_is_a_secret_elsewhere() -> None:
    plain = layered("names", "site", {"first": "one"})
    taken = [substitution("names", ".first", ".groups[0].name")]
    other = layered("x", "site", {}, substitutions=[substitution("pw", ".", ".x", schema=PASSPHRASE)])
    assert exposed(SECRET, plain, other, strategy(substitutions=taken)) == []


def test_a_draft_that_cannot_be_rendered_exposes_its_secrets_too() -> None:
    read: list[Document] = documents(strategy(storagePolicy="encrypted", substitutions="wrong"))
    levels = {problem.path: problem.level for problem in validate(read, draft=True)}
    assert levels["$.metadata.storagePolicy"] == levels["$.metadata.substitutions"] == "error"


def test_what_cannot_be_rendered_is_an_error_in_a_draft_too() -> None:
    wrong = layered("c", "global", {}, schema="armada/Chart/v1", substitutions="wrong")
    (problem,) = draft(documents(wrong))
    assert (problem.path, problem.level) == ("$.metadata.substitutions", "error")


def test_a_consequence_of_a_failed_rendering_is_not_told() -> None:
    hidden = strategy(substitutions="wrong")
    named = {"physical_provisioner": {"deployment_strategy": "deployment-strategy", "deploy_timeout": -1}}
    settings = layered("deployment-configuration", "site", named, schema=CONFIGURATION)
    node = layered("n1", "site", {"host_profile": "gone"}, schema="drydock/BaremetalNode/v1")
    for judge in (draft, validate):
        found = [(problem.path, problem.level) for problem in judge(documents(hidden, settings, node))]
        assert found == [
            ("$.metadata.substitutions", "error"),
            ("$.data.physical_provisioner.deploy_timeout", "error"),
        ]


def test_a_part_that_is_missing_is_told_with_its_line_and_the_nearest_that_is_there() -> None:
    networks = [document("drydock/Network/v1", name, {}) for name in ("oam", "storage")]
    links = [document("drydock/NetworkLink/v1", "bond0", {}), document("drydock/HardwareProfile/v1", "server-2u", {})]
    named = {
        "hardware_profile": "server-3u",
        "oob": {"network": "storrage"},
        "addressing": [{"network": "oam"}, {"network": "oan"}],
        "interfaces": {"b": {"device_link": "bond1", "networks": ["oam", "elsewhere"]}},
    }
    read = _whole(GOOD, more=[*networks, *links, document("drydock/BaremetalNode/v1", "n3", named)])
    found = {problem.path: problem for problem in whole(read).problems if problem.level == "warning"}
    told = {
        "$.data.hardware_profile": "HardwareProfile/v1 named 'server-3u'; did you mean 'server-2u'?",
        "$.data.oob.network": "Network/v1 named 'storrage'; did you mean 'storage'?",
        "$.data.interfaces.b.device_link": "NetworkLink/v1 named 'bond1'; did you mean 'bond0'?",
        "$.data.interfaces.b.networks[1]": "Network/v1 named 'elsewhere'",
    }
    assert {path: found[path].message.removeprefix("there is no drydock/") for path in told} == told
    near = found["$.data.addressing[1].network"]
    assert near.message.startswith("there is no drydock/Network/v1 named 'oan'; did you mean 'oam'")
    assert len({problem.line for problem in found.values()}) == len(found), "each at its own line"


def test_a_strategy_or_a_source_that_is_missing_is_told_with_the_nearest() -> None:
    read = _whole(GOOD.replace("deployment_strategy: deployment-strategy", "deployment_strategy: deployment-strategi"))
    assert any("; did you mean 'deployment-strategy'?" in text for text in _said(whole(read), "error"))
    there = layered("root-password", "site", "x", schema=PASSPHRASE)
    wanted = layered("c", "site", {}, substitutions=[substitution("rot-password", ".", ".x", schema=PASSPHRASE)])
    (warning,) = render(documents(there, wanted)).warnings
    assert warning.message.endswith("so that nothing is put in here; did you mean 'root-password'?"), warning


SITE = "schema: slipway/Site/v1\nmetadata: {{name: s}}\ndata: {{provisioner: {0}}}\n---\n"
OWN = "schema: slipway/Node/v1\nmetadata: {name: n1}\ndata: {}\n---\n"
OTHERS = "schema: drydock/BaremetalNode/v1\nmetadata: {name: d1}\ndata: {}\n---\n"
SET = "schema: slipway/NodeSet/v1\nmetadata: {name: s1}\ndata: {}\n---\n"
ACCOUNT = "schema: slipway/BmcAccount/v1\nmetadata: {name: b1}\ndata: {user: u, password: p}\n---\n"
NETWORK = "schema: drydock/Network/v1\nmetadata: {name: oam}\ndata: {}\n---\n"
DRYDOCK, MAAS, IRONIC = SITE.format("drydock"), SITE.format("maas"), SITE.format("ironic")

MAAS_ON_DRYDOCK = "slipway/Node/v1 is for MAAS or Ironic, and the site's provisioner is Drydock: describe its machines"
DRYDOCK_ON_MAAS = "drydock/BaremetalNode/v1 is for Drydock, and the site's provisioner is MAAS: describe its machines"

FITTING = [
    (OTHERS + NETWORK, None),
    (OTHERS + NETWORK, "drydock"),
    (DRYDOCK + OTHERS, "drydock"),
    (DRYDOCK + OTHERS, None),
    (OWN + SET, None),
    (OWN + SET, "maas"),
    (MAAS + OWN, "maas"),
    (MAAS + OWN, None),
    (IRONIC + OWN + SET + ACCOUNT, "ironic"),
    (IRONIC.replace("ironic", "ironic, enroll: true") + OWN, None),
    (OTHERS, "another"),
]


@pytest.mark.parametrize(("text", "connected"), FITTING)
def test_nothing_is_said_of_what_fits(text: str, connected: str | None) -> None:
    assert provisioner_problems(load_documents(text), connected) == []


FOREIGN = [
    # The connection decides.
    (OWN, "drydock", ["error $.schema"], [MAAS_ON_DRYDOCK]),
    (OTHERS, "maas", ["error $.schema"], [DRYDOCK_ON_MAAS]),
    # Without one, what the site says.
    (DRYDOCK + OWN, None, ["error $.schema"], [MAAS_ON_DRYDOCK]),
    (MAAS + OTHERS, None, ["error $.schema"], [DRYDOCK_ON_MAAS]),
    # Where the two differ.
    (MAAS + OWN, "drydock", ["error $.data.provisioner", "error $.schema"], ["leads to Drydock", MAAS_ON_DRYDOCK]),
    (DRYDOCK + OTHERS, "maas", ["error $.data.provisioner", "error $.schema"], ["leads to MAAS", DRYDOCK_ON_MAAS]),
    (IRONIC + OWN, "maas", ["error $.data.provisioner"], ["leads to MAAS: write maas, or give the site a connection"]),
    (
        IRONIC + OTHERS,
        None,
        ["error $.schema"],
        ["the site's provisioner is Ironic: describe its machines"],
    ),
    (MAAS.replace("maas", "maas, enroll: true") + OWN, None, ["error $.data.enroll"], ["is for Ironic: MAAS gets"]),
    # Without either only both kinds together are wrong.
    (
        OTHERS + OWN,
        None,
        ["error $.schema"],
        ["here are 1 nodes for MAAS or Ironic (slipway/Node/v1) and 1 for Drydock"],
    ),
    # What is only not read.
    (OWN + NETWORK, "maas", ["warning $.schema"], ["drydock/Network/v1 is for Drydock"]),
    (OTHERS + SET, "drydock", ["warning $.schema"], ["slipway/NodeSet/v1 is for MAAS or Ironic"]),
    # Each kind once.
    (OTHERS + OTHERS.replace("d1", "d2"), "maas", ["error $.schema"], ["for Drydock, as are 1 more documents"]),
]


@pytest.mark.parametrize(("text", "connected", "places", "said"), FOREIGN)
def test_what_does_not_fit_is_named(text: str, connected: str | None, places: list[str], said: list[str]) -> None:
    found = provisioner_problems(load_documents(text, "site.yaml"), connected)
    assert [f"{problem.level} {problem.path}" for problem in found] == places
    for problem, part in zip(found, said, strict=True):
        assert part in problem.message
        assert problem.line is not None


def test_labels_and_defaults_of_a_site_are_for_maas() -> None:
    text = "schema: slipway/Site/v1\nmetadata: {name: s}\ndata: {provisioner: drydock, labels: {a: b}, defaults: {}}\n"
    (found,) = provisioner_problems(load_documents(text))
    assert (found.path, found.line) == ("$.data.labels", 3)


def test_two_sites_are_told_of_elsewhere() -> None:
    assert provisioner_problems(load_documents(MAAS + MAAS.replace("name: s", "name: t") + OTHERS)) == []
