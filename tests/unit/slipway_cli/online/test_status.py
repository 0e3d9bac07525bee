"""`slipway status`: one screen over all sites, with the command that comes next to each line."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import AT, ID, Server
from tests.unit.slipway_cli.online.test_lists import listed_site

BRIEF = {"id": ID, "kind": "update_site", "revision": 3, "state": "running", "verdict": None, "left_alone": 0}
RUNNING = BRIEF | {"user": "ann", "created": AT, "ended": None, "paused": None, "asks": None, "approve": None}
FAILED = RUNNING | {"state": "failed", "verdict": "critical groups failed: control", "ended": AT}
GOOD = {"status": "success", "healthy": True, "in_sync": True, "running": None, "last": None, "stopped": None}


def _on(server: Server, *sites: dict[str, Any], loaded: dict[str, list[str]] | None = None) -> None:
    server.on("GET", "/sites", list(sites))
    for site in sites:
        names = (loaded or {}).get(site["name"], [])
        found = [{"collection_name": name, "new_status": "modified"} for name in names]
        same = {"collection_name": "old", "new_status": "unmodified"}
        server.on("GET", "/configdocs", [*found, same], match=[_of_site(site["name"])])


def _of_site(name: str) -> Any:
    from responses import matchers

    return matchers.query_param_matcher({"site": name, "verbosity": "1"})


def test_what_waits_what_is_wrong_and_what_runs(slipway: Slipway, server: Server) -> None:
    stop = {"at": AT, "by": "ann", "reason": "power", "all_sites": False}
    _on(
        server,
        listed_site("a", **GOOD | {"running": RUNNING | {"asks": "racks"}}),
        listed_site("b", **GOOD | {"last": FAILED, "healthy": False, "health": "2 nodes in error", "in_sync": False}),
        listed_site("c", **GOOD | {"repair_stopped": stop}),
        listed_site("d", **GOOD),
        loaded={"c": ["design", "nodes"]},
    )
    result = slipway("status")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "Waits for you (2):",
        f"  site a: group racks of action/{ID} waits for an approval",
        f"      slipway approve action/{ID} --group racks",
        "  site c: loaded, not committed: design, nodes",
        "      slipway diff configdocs --site c",
        "Is wrong (3):",
        "  site b: 2 nodes in error",
        "      slipway get nodes --status error --site b",
        "  site b: update_site failed: critical groups failed: control",
        f"      slipway report action/{ID}",
        "  site c: repair is stopped by ann since 2026-03-01 12:00:00 UTC: power",
        "      slipway start repair --site c",
        "Runs (1):",
        "  site a: update_site to revision 3, by ann",
        f"      slipway describe action/{ID} --follow",
        "4 sites: 1 behind its design",
        "next: slipway plan update_site --site b",
    ]


def test_where_all_is_well_it_is_one_line(slipway: Slipway, server: Server) -> None:
    _on(server, listed_site("a", **GOOD))
    said = "1 site: all serve their design; nothing waits, nothing is wrong, nothing runs\n"
    assert slipway("status").stdout == said
    assert json.loads(slipway("status", "-o", "json").stdout) == {"waits": [], "wrong": [], "runs": [], "sites": 1}


def test_a_held_store_waits_first_and_a_stop_of_all_sites_is_said_once(slipway: Slipway, server: Server) -> None:
    stop = {"at": AT, "by": "ann", "reason": "", "all_sites": True}
    _on(server, *(listed_site(name, **GOOD | {"hold": "restored", "repair_stopped": stop}) for name in "ab"))
    lines = slipway("status").stdout.splitlines()
    assert lines[1] == "  held: restored"
    assert lines[3:5] == [
        "  repair is stopped by ann since 2026-03-01 12:00:00 UTC",
        "      slipway start repair --all-sites",
    ]
    assert len(lines) == 6


def test_it_fits_a_screen_and_all_of_it_is_there(slipway: Slipway, server: Server) -> None:
    sites = [listed_site(f"s{n:02}", **GOOD | {"running": RUNNING}) for n in range(15)]
    _on(server, *sites)
    assert "  and 5 more: --all shows them" in slipway("status").stdout
    assert slipway("status", "--all").stdout.count("update_site to revision 3") == 15


def test_before_the_first_site_it_says_how_one_begins(slipway: Slipway, server: Server) -> None:
    _on(server)
    assert slipway("status").stdout == "there is no site yet\nnext: slipway create configdocs --help\n"
