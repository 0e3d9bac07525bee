"""The way of a node's outcome, from the provisioner's answer to the page: as docs/architecture.md draws it."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import defaultdict
from types import FrameType
from typing import Any

from site_engine.trees.status_trees import ACTION_DEPTH, action_tree
from slipway_api.status.tree_routes import render_tree
from tests.conftest import ROOT
from tests.support.driving import Begin
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

SAID = "Node a failed deployment"
_ROW = re.compile(r"^\| `(\w+)` \| `([\w/]+\.py)`", re.M)


class Trace:
    """Notes which dataclasses of the product have the provisioner's words in them, and which files return them."""

    def __init__(self) -> None:
        self.shapes: defaultdict[str, set[str]] = defaultdict(set)

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        if event != "return":
            return
        file = frame.f_code.co_filename.removeprefix(f"{ROOT}/").removeprefix("plugins/")
        if file.startswith(("/", "<", ".venv", "tests")):
            return
        sys.setprofile(None)
        for one in (value, *frame.f_locals.values()):
            known = self.shapes.get(type(one).__name__, ())
            if dataclasses.is_dataclass(one) and file not in known and SAID in repr(one):
                self.shapes[type(one).__name__].add(file)
        sys.setprofile(self)


def test_an_outcome_goes_the_way_that_is_drawn(begin: Begin, simulator: Simulator) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    drawn = text.split("## From the provisioner's answer to the page")[1].split("\n## ")[0]
    made_in = dict(_ROW.findall(drawn))
    holding = set(re.findall(r"`(\w+)`", drawn.split("\nThese hold many")[1]))
    simulator.script("a", "deploy", "fail")
    driving = begin(site([node("a"), node("b")], [group("all")]))
    trace = Trace()
    sys.setprofile(trace)
    try:
        driving.group("all")
        tree = action_tree(driving.store, driving.action.id, ACTION_DEPTH + 1)
        page = render_tree(tree, ACTION_DEPTH + 1, touched_only=False)
    finally:
        sys.setprofile(None)
    assert SAID.encode() in page.body
    assert set(trace.shapes) == made_in.keys() | holding
    assert {shape: file for shape, file in made_in.items() if file not in trace.shapes[shape]} == {}
