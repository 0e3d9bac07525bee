"""What can go wrong with the embedded Airflow; every message says what to do."""

from __future__ import annotations

from pathlib import Path

from slipway_cli import SlipwayCliError


class EmbeddedError(SlipwayCliError):
    """The embedded Airflow cannot do this; the message says what to do."""


def with_log(said: str, log: Path, tail: str) -> EmbeddedError:
    """Return the error of a process that failed, with the end of its log."""
    return EmbeddedError(f"{said}; its log {log} ends:\n{tail}")
