"""What stands above a status tree on a terminal: whose it is, how it stands in words, and the time. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from slipway_cli.output import counted, printable
from strategy_lib.status.words import duration_words

_OVER = {"success": "bold green", "failed": "bold red", "cancelled": "bold red"}
PAUSED = "paused: the group at work ends, no other starts"


def verdict_style(header: Mapping[str, Any]) -> str:
    """Return the style of an action's verdict: a success that left nodes of critical groups alone is yellow."""
    return "bold yellow" if header.get("left_alone") else _OVER.get(str(header["state"]), "")


def is_over(header: Mapping[str, Any]) -> bool:
    """Whether the action of a tree has ended."""
    return header.get("state") not in ("pending", "running")


def action_header_lines(header: Mapping[str, Any], since: float = 0.0) -> Iterator[Text]:
    """Yield the lines above the tree of an action.

    Parameters
    ----------
    since : seconds since the header was read.
    """
    revision = f", revision {header['revision']}" if header.get("revision") is not None else ""
    words = f"{header['kind']} of site {header['site']}{revision}, by {header['user']}: {header['state']}"
    yield Text(printable(words), "bold")
    if header.get("superseded"):
        yield Text(printable(str(header["superseded"])), "yellow")
    if header.get("verdict"):
        yield Text(printable(str(header["verdict"])), verdict_style(header))
    yield from hold_lines(header)
    running = header.get("state") == "running"
    elapsed = header.get("elapsed")
    if elapsed is not None and running:
        elapsed += since
    parts = [elapsed_words(elapsed, header.get("estimate") if running else None)]
    if header.get("state") == "pending":
        parts = []
    said = "; ".join(part for part in (*parts, _state_words(header)) if part)
    if said:
        yield Text(said, "dim")


def hold_lines(header: Mapping[str, Any]) -> Iterator[Text]:
    """Yield why nothing is sent to a provisioner, and the command that ends it; nothing where it may be (rule 61)."""
    if header.get("hold"):
        yield Text(printable(f"held: {header['hold']}"), "bold yellow")


def elapsed_words(elapsed: float | None, estimate: float | None) -> str:
    """Say how long an action has taken so far, and what is left of what earlier ones took; both in seconds."""
    if elapsed is None:
        return ""
    words = f"elapsed {duration_words(elapsed)}"
    if estimate is None:
        return words
    usual = f"earlier ones took {duration_words(estimate)}"
    left = estimate - elapsed
    return f"{words}; about {duration_words(left)} left ({usual})" if left > 0 else f"{words}; longer than {usual}"


def _state_words(header: Mapping[str, Any]) -> str:
    if header.get("state") == "pending":
        return "waiting for Airflow to start it"
    return PAUSED if header.get("paused") and header.get("state") == "running" else ""


def in_short(header: Mapping[str, Any]) -> str:
    """Return what an action waits for, or that it is paused; "" where its entries say how it goes on."""
    return str(header.get("hold") or header.get("waits") or "") or _state_words(header)


def site_header_lines(header: Mapping[str, Any]) -> Iterator[Text]:
    """Yield the lines above the tree of a site: in sync or behind, healthy or not; then its revisions and actions."""
    if header.get("sync"):
        line = Text(printable(f"site {header['name']}: "), "bold")
        line.append(printable(str(header["sync"])), "bold green" if header["in_sync"] else "bold cyan")
        line.append("; ", "bold")
        line.append(printable(str(header["health"])), "bold green" if header["healthy"] else "bold red")
        yield line
    committed, done = header.get("revision_committed"), header.get("revision_done")
    revisions = f"revision {committed} is committed" if committed is not None else "nothing is committed"
    if done is not None:
        revisions += ", and done" if done == committed else f", {done} is done"
    revisions += f"; {counted(header['nodes'], 'node')}"
    if header.get("sync"):
        yield Text(printable(revisions), "dim")
    else:
        yield Text(printable(f"site {header['name']}: {revisions}"), "bold")
    yield from hold_lines(header)
    for title, action in (("running", header.get("running")), ("last", header.get("last"))):
        if action:
            asks = f"group {action['asks']} waits for approval: {action['approve']}" if action.get("asks") else ""
            verdict = f": {action['verdict']}" if action.get("verdict") else ""
            state = asks or f"{action['state']}{verdict}"
            yield Text(
                printable(f"{title}: {action['kind']}, action/{action['id']}, {state}"), "yellow" if asks else "dim"
            )
