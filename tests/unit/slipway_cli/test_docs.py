"""The documentation keeps its word: its examples are valid, and what it names exists."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from design_rendering.kinds.drydock_nodes import nodes_from_documents
from design_rendering.reading.documents import load_documents
from slipway_cli.main import COMMANDS, SERVER, LazyGroup, main
from strategy_lib import simulate
from strategy_lib.parsing.strategy_parser import nodes_from_inventory, parse_strategy
from tests.unit.slipway_cli.conftest import Slipway

DOCS = Path(__file__).parents[3] / "docs"
STRATEGY_DOC = (DOCS / "strategy.md").read_text(encoding="utf-8")
CLI_DOC = (DOCS / "cli.md").read_text(encoding="utf-8")


def _examples(text: str, language: str) -> Iterator[str]:
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield match.group(1)


EXAMPLES = [*_examples(STRATEGY_DOC, "yaml"), *_examples(CLI_DOC, "yaml")]


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_yaml_example_is_valid(example: str) -> None:
    data = next(yaml.safe_load_all(example))
    if isinstance(data, list):
        assert nodes_from_inventory(data)
    elif "schema" in data:
        assert load_documents(example)
    else:
        assert parse_strategy(data).groups


def test_the_whole_documents_are_valid_together(slipway: Slipway) -> None:
    documents = "".join(example for example in EXAMPLES if example.startswith("---"))
    result = slipway("validate", "-", "--strict", stdin=documents)
    assert (result.exit_code, result.stdout.startswith("11 documents read")) == (0, True), result.output
    planned = json.loads(slipway("plan", "-", "-o", "json", stdin=documents).stdout)
    assert [group["nodes"] for group in planned["groups"]] == [["ntp01"], ["ntp01"]]
    # A file can be written by these examples alone: what the page says of a node holds.
    (node,) = nodes_from_documents(load_documents(documents))
    assert (node.rack, node.tags) == ("rack01", frozenset({"compute", "ntp"}))
    assert node.labels == {"openstack-nova-compute": "enabled", "zone": "east"}


def _pattern(heading: str) -> dict[str, object]:
    section = STRATEGY_DOC.partition(f"### {heading}\n")[2].partition("\n#")[0]
    data = yaml.safe_load(next(_examples(section, "yaml")))
    assert isinstance(data, dict)
    return data


def _computes(rack: str, count: int) -> list[dict[str, object]]:
    return [{"name": f"{rack}-{number}", "tags": ["compute"], "rack": rack} for number in range(count)]


def test_pattern_racks_a_bad_rack_fails_alone_and_the_last_group_deploys_what_was_left_prepared() -> None:
    nodes = _computes("rack01", 4) + _computes("rack02", 12)
    bad = {"prepare": {f"rack01-{number}": "failure" for number in range(3)}}
    result = simulate(_pattern("Racks as failure domains"), nodes, bad)
    assert {name: group["state"] for name, group in result["groups"].items()} == {
        "rack01": "failure",
        "rack02": "success",
        "enough-computes": "success",
    }
    assert result["verdict"] == "success"
    assert result["submissions"][-1] == {"group": "enough-computes", "phase": "deploy", "nodes": ["rack01-3"]}


def test_pattern_racks_too_few_computes_in_all_is_a_failure() -> None:
    nodes = _computes("rack01", 8) + _computes("rack02", 8)
    bad = {"deploy": {f"rack01-{number}": "failure" for number in range(8)}}
    assert simulate(_pattern("Racks as failure domains"), nodes, bad)["verdict"] == "failure"


def test_pattern_canary_a_failure_leaves_the_rest_as_it_was() -> None:
    nodes: list[dict[str, object]] = [{"name": f"r{n}-compute-01", "tags": ["compute"]} for n in range(1, 9)]
    result = simulate(_pattern("A canary group"), nodes, {"deploy": {"r1-compute-01": "failure"}})
    assert sorted(result["nodes"].values()) == ["failure", *["not_started"] * 6, "success"]
    good = simulate(_pattern("A canary group"), nodes)
    sent = [node for step in good["submissions"] if step["phase"] == "deploy" for node in step["nodes"]]
    assert sorted(sent) == sorted(str(node["name"]) for node in nodes)


def test_pattern_control_plane_monitoring_is_deployed_even_if_it_fails() -> None:
    nodes: list[dict[str, object]] = [
        {"name": f"c{n}", "labels": {"openstack-control-plane": "enabled"}} for n in range(4)
    ]
    nodes.append({"name": "m", "tags": ["monitoring"]})
    result = simulate(_pattern("The control plane first"), nodes, {"deploy": {"c0": "failure", "c1": "failure"}})
    assert (result["verdict"], result["nodes"]["m"]) == ("failure", "success")


def _section(name: str) -> str:
    return CLI_DOC.partition(f"\n## `slipway {name}`\n")[2].partition("\n## ")[0]


SHARED = CLI_DOC.partition("\n## What the commands that operate sites share\n")[2].partition("\n## ")[0]
SHARED_OPTIONS = {option for parameter in main.params for option in parameter.opts} | {"--output"}


def _described(option: str, section: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", section) is not None


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_option_is_described(name: str) -> None:
    section = _section(name)
    assert section, f"no section of {name}"
    command = COMMANDS[name].load(name)
    parts = command.commands if isinstance(command, click.Group) else {}
    assert all(f"`slipway {name} {part}" in section for part in parts)
    online = COMMANDS[name].section == SERVER
    for parameter in (parameter for one in (command, *parts.values()) for parameter in one.params):
        if isinstance(parameter, click.Option) and not parameter.hidden:
            long = max(parameter.opts, key=len)
            described = _described(long, section) or (online and long in SHARED_OPTIONS and _described(long, SHARED))
            assert described or (long == "--output" and "[-o table|json|yaml]" in section), parameter.opts


def _commands(command: click.Command, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group) and not isinstance(command, LazyGroup):
        for name, part in command.commands.items():
            yield from _commands(part, *names, name)
    else:
        yield names, command


ALL = [found for name, lazy in COMMANDS.items() for found in _commands(lazy.load(name), name)]


def _parse(words: list[str]) -> None:
    """Parse a command's words as far as that can be done without calling it. Raises `click.UsageError`."""
    command: click.Command = main
    context = click.Context(main, info_name="slipway")
    while isinstance(command, click.Group):
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, info_name=found.name, parent=context)
    values, rest, _ = command.make_parser(context).parse_args(args=[*words])
    assert not rest, f"{rest} is too much"
    for parameter in command.params:
        value = values.get(parameter.name or "")
        if value is None or parameter.value_is_missing(value):
            assert not parameter.required, f"{parameter.name} is missing"
        elif not isinstance(parameter.type, click.Path | click.File):
            # A file of an example need not be there.
            parameter.type_cast_value(context, value)


@pytest.mark.parametrize(("names", "command"), ALL, ids=[" ".join(names) for names, _ in ALL])
def test_every_example_of_a_help_can_be_parsed(names: tuple[str, ...], command: click.Command) -> None:
    lines = [line for line in (command.epilog or "").splitlines() if "slipway " in line]
    assert lines, f"{' '.join(names)}: its help has no example"
    for line in lines:
        # What a shell reads before it is none of Slipway's; nor is another program that gets its output.
        told = line[line.index("slipway ") :].rstrip(')"')
        for part in re.split(r" && | \| | > ", told):
            words = shlex.split(part)
            if words[0] == "slipway":
                _parse(words[1:])


def test_every_field_of_a_group_is_taught() -> None:
    fields = ("name", "critical", "depends_on", "selectors", "success_criteria")
    assert all(f"### `{field}`" in STRATEGY_DOC for field in fields)
    criteria = ("percent_successful_nodes", "minimum_successful_nodes", "maximum_failed_nodes")
    selectors = ("node_names", "node_tags", "node_labels", "rack_names")
    assert all(f"| `{name}` |" in STRATEGY_DOC for name in (*criteria, *selectors))


PAGES = sorted(DOCS.glob("*.md"))


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, DOCS.parent / "README.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" not in target:
            there = (page.parent / path).resolve() if path else page
            assert there.exists(), target
            assert not anchor or anchor in _anchors(there), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_readme_leads_to_every_page(page: Path) -> None:
    assert f"(docs/{page.name}" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


COMMAND = re.compile(r"^(?:\$ )?slipway ([a-z-]+)(.*)$", re.MULTILINE)


@pytest.mark.parametrize("name", ["day2", "troubleshooting", "shipyard"])
def test_the_commands_of_the_pages_for_operators_exist(name: str) -> None:
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    found = re.findall(r"`slipway ([^`]+)`", text) + [" ".join(words) for words in COMMAND.findall(text)]
    assert found
    for line in found:
        words = line.split("#")[0].split()
        # Without a command: an option of `slipway` itself.
        command = main if words[0].startswith("-") else COMMANDS[words[0]].load(words[0])
        if command is not main and isinstance(command, click.Group) and len(words) > 1:
            command = command.commands[words[1].partition("/")[0]]
        options = {option for parameter in (*command.params, *main.params) for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options | {"-"}, line


def test_the_example_output_of_validate_is_what_it_prints(slipway: Slipway, tmp_path: Path) -> None:
    shown = CLI_DOC.partition("$ slipway validate strategy.yaml\n")[2].partition("```")[0]
    broken = """\
---
schema: shipyard/DeploymentStrategy/v1
metadata:
  schema: metadata/Document/v1
  name: deployment-strategy
  layeringDefinition: {abstract: false, layer: site}
  storagePolicy: cleartext
data:
  groups:
  - name: control-nodes
    critical: true
    depends_on:
    - ntp-nodes
    selectors:
    - node_tags: [control]
    success_criteria:
      percent_successful_nodes: 90
  - name: compute-nodes
    depends_on: [control-nodes]
    critical: maybe
    selectors: []
"""
    path = tmp_path / "strategy.yaml"
    path.write_text(broken, encoding="utf-8")
    result = slipway("validate", path)
    assert (result.stdout + result.stderr).replace(f"{tmp_path}/", "") == shown


def test_the_first_table_of_the_commands_names_each_of_them() -> None:
    table = CLI_DOC.partition("## What all commands share")[0]
    named = set(re.findall(r"\[`([a-z-]+)`\]\(", table))
    assert named == set(COMMANDS)
