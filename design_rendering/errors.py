"""The exceptions of `design_rendering`: what makes documents unusable. Each carries all problems."""

from __future__ import annotations

from strategy_lib.errors import StrategyLibError


class DocumentError(StrategyLibError):
    """The documents cannot be read. Mend the YAML, or add the documents that are missing."""


class RenderingError(StrategyLibError):
    """The documents cannot be rendered. Mend the layering and the substitutions listed below."""
