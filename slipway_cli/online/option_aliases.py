"""Options that are found in another spelling too: Shipyard's client writes some in another way than Slipway."""

from __future__ import annotations

from typing import Any


def also(other: str, shown: str) -> dict[str, Any]:
    """Return a command's `context_settings` that take the option `--<other>` for `--<shown>`, which help shows."""
    return {"token_normalize_func": lambda name: shown if name == other else name}
