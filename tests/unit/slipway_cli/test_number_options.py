"""Numbers of the command line: `nan`, infinity and times that are out of bounds are refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from provisioner_client.finite_range import FiniteRange
from slipway_cli.main import main
from tests.unit.slipway_cli.conftest import Slipway


def commands(command: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and all below it, each with its words."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, *words, name)


def test_every_number_with_a_fraction_has_both_bounds() -> None:
    found = {
        (*words, option.opts[0]): option.type
        for words, command in commands(main)
        for option in command.params
        if isinstance(option.type, click.types.FloatParamType)
    }
    assert ("controller", "--lease") in found
    assert {
        where
        for where, kind in found.items()
        if not isinstance(kind, FiniteRange) or kind.min is None or kind.max is None
    } == set()


@pytest.mark.parametrize("given", ["nan", "inf", "-inf", "0", "0.5", "-1", "1e300", "3601"])
def test_a_lease_that_is_none_is_refused_with_what_would_do(slipway: Slipway, given: str) -> None:
    result = slipway("controller", "--lease", given)
    assert result.exit_code == 2
    assert "'--lease'" in result.stderr
    assert "is not in the range 1<=x<=3600" in result.stderr
