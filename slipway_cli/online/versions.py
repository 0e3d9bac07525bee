"""The names of versions and the numbers of revisions, as arguments and options; names complete in a shell."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

_DIGITS = 12
"""More than any revision's number has."""
VERSIONS = ("buffer", "committed", "last_site_action", "successful_site_action")


class VersionType(click.ParamType[str]):
    """The name of a version, or the number of a revision."""

    name = "version"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check it."""
        if value not in VERSIONS and not (value.isdecimal() and int(value) > 0):
            self.fail(
                f"{value!r} is neither a version ({', '.join(VERSIONS)}) nor the number of a revision", param, ctx
            )
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the names."""
        return [CompletionItem(name) for name in VERSIONS if name.startswith(incomplete)]


class RevisionType(click.ParamType[int]):
    """The number of a revision."""

    name = "revision"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Check it."""
        if isinstance(value, str) and not (value.isdecimal() and len(value) <= _DIGITS and int(value) > 0):
            self.fail(f"{value!r} is not the number of a revision: `slipway get revisions` lists them", param, ctx)
        return int(value)


VERSION = VersionType()
REVISION = RevisionType()
