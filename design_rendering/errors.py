"""The exceptions of `design_rendering`."""

from __future__ import annotations

from collections.abc import Iterable

from strategy_lib.errors import Problem, StrategyLibError


class DesignRenderingError(Exception):
    """Root of the exceptions of this room."""


class RenderingError(DesignRenderingError, StrategyLibError):
    """The documents cannot be rendered. Mend the layering and the substitutions listed below."""

    # A StrategyLibError too: whoever reads designs catches it together with all else that is wrong with documents.
    # `problems` has everything at once, each with its source, line and path.
    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        StrategyLibError.__init__(self, problems)
