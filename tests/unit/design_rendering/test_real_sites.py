"""The two real sites that the project was given, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from design_rendering import load_documents, read_design
from strategy_lib.simulation import rehearse

SITES = Path(__file__).resolve().parents[4] / "shared" / "sites"


@pytest.mark.skipif(not SITES.is_dir(), reason="../shared is absent")
@pytest.mark.parametrize(
    ("name", "members", "warnings"),
    [
        (
            "seaworthy",
            {
                "masters": {"cab23-r720-12", "cab23-r720-13"},
                "workers": {"cab23-r720-14", "cab23-r720-16", "cab23-r720-17"},
            },
            [],
        ),
        (
            "airsloop",
            {"masters": set(), "workers": {"airsloop-compute-1"}},
            ["group 'masters' matches no node"],
        ),
    ],
)
def test_real_site(name: str, members: dict[str, set[str]], warnings: list[str]) -> None:
    design = read_design(load_documents((SITES / f"{name}.yaml").read_bytes(), f"{name}.yaml"))
    assert design.configuration.deployment_strategy == "deployment-strategy"
    assert design.configuration.join_wait == 0
    assert design.members() == members
    assert [warning.message for warning in design.warnings] == warnings
    assert set(design.digests) == {node.name for node in design.nodes}
    assert all(node.rack and node.labels for node in design.nodes)
    assert rehearse(design.strategy, design.nodes).deployment.verdict == "success"
