"""`slipway validate`: show everything that is wrong with documents, all at once."""

import click
from rich.text import Text

from design_rendering import drydock_kinds, slipway_kinds
from design_rendering.kinds.nodes import has_nodes
from design_rendering.validation import document_counts, validate_files
from site_engine.extensions import installed_policies
from slipway_cli.files import files_in, load_sources, read_sources
from slipway_cli.offline.strategy_input import by_policy_data, print_by_policy
from slipway_cli.options import examples
from slipway_cli.output import (
    OutputFormat,
    console,
    counted,
    deliver,
    output_option,
    print_problems,
    problem_data,
    serialised,
)
from strategy_lib.parsing.configuration import CONFIGURATION_SCHEMA
from strategy_lib.parsing.notifications import NOTIFICATIONS_SCHEMA
from strategy_lib.parsing.site_settings import SITE_SETTINGS_SCHEMA
from strategy_lib.strategy import STRATEGY_SCHEMA

NOUNS = {
    STRATEGY_SCHEMA: "strategy",
    CONFIGURATION_SCHEMA: "configuration",
    NOTIFICATIONS_SCHEMA: "notification list",
    SITE_SETTINGS_SCHEMA: "settings document",
    drydock_kinds.NODE_SCHEMA: "node",
    slipway_kinds.NODE_SCHEMA: "node",
    slipway_kinds.NODE_SET_SCHEMA: "node set",
    slipway_kinds.SITE_SCHEMA: "site",
}


@click.command(epilog=examples("slipway validate site.yaml strategy.yaml", "slipway validate -d site --strict"))
@click.argument("files", metavar="[FILE...]", nargs=-1)
@click.option(
    "--directory", "-d", "directories", multiple=True, metavar="FOLDER", help="Check all *.yaml and *.yml below it too."
)
@click.option("--strict", is_flag=True, help="Let warnings fail as well.")
@output_option
def validate(files: tuple[str, ...], directories: tuple[str, ...], strict: bool, output: str) -> None:
    """Check documents and show all problems at once, each with its file, line and path.

    FILE is any mixture of strategies, configurations and whole site designs; - is standard input. Documents of other
    kinds are read and not judged. Files with nodes are a whole site and are judged as a commit judges them. Warnings do
    not fail, unless --strict is given. The policies that are installed here judge as they do in a commit, and what they
    change is named.
    """
    if not files and not directories:
        raise click.UsageError("which documents? name files, or give --directory")
    paths = [*files, *(path for each in directories for path in files_in(each, recurse=True))]
    documents, problems = load_sources(read_sources(paths))
    policies = installed_policies().policies
    found = validate_files(documents, policies, draft=not has_nodes(documents), complete=not problems)
    problems += found.problems
    errors = [problem for problem in problems if problem.level == "error"]
    warnings = [problem for problem in problems if problem.level == "warning"]
    valid = not errors and not (strict and warnings)
    counts = document_counts(documents)
    if output == OutputFormat.TABLE:
        print_problems(console(), problems)
        judged = [counted(number, NOUNS[schema]) for schema, number in counts.items() if number]
        summary = f"{counted(len(documents), 'document')} read" + (f" ({', '.join(judged)})" if judged else "")
        summary += f": {counted(len(errors), 'error')}, {counted(len(warnings), 'warning')}"
        target = console(stderr=not valid)
        target.print(Text(summary, style="green" if valid else "bold red"))
        print_by_policy(target, found.by_policy)
    else:
        data = {
            "valid": valid,
            "documents": len(documents),
            "problems": [problem_data(problem) for problem in errors],
            "warnings": [problem_data(problem) for problem in warnings],
            **by_policy_data(found.by_policy),
        }
        deliver(serialised(data, output), None)
    if not valid:
        raise SystemExit(1)
