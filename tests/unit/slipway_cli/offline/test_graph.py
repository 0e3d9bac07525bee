"""The drawings: what they say, and names that can be anything."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from slipway_cli.main import main
from slipway_cli.offline.graph import to_dot, to_mermaid, to_svg
from slipway_cli.terminal.plan_table import PlannedGroup
from tests.conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"
ODD_NAMES = [
    '<b>&"x"</b>',
    "a--b -->",
    "日本語",
    "\x1b[31mred\a",
    "it's",
    "back\\slash",
    "#35; %%",
    "x" * 200,
    "a\nb",
    "\xad",
]


def _box(name: str, position: int = 1, *depends_on: str, critical: bool = False) -> PlannedGroup:
    return PlannedGroup(name, position, critical, depends_on, 3, "≥ 50 %")


def test_svg_says_what_it_shows_to_readers_who_cannot_see_it() -> None:
    boxes = [_box("first", 1, critical=True), _box("second", 2, "first")]
    root = ElementTree.fromstring(to_svg(boxes, "Strategy mine"))  # noqa: S314 - our own output
    assert root.findtext(f"{SVG}title") == "Strategy mine"
    description = root.findtext(f"{SVG}desc") or ""
    assert "1. first; critical · 3 nodes; ≥ 50 %" in description
    assert "2. second; 3 nodes; ≥ 50 %; after first" in description
    assert root.get("role") == "img"


def test_svg_marks_critical_groups_by_more_than_colour() -> None:
    root = ElementTree.fromstring(to_svg([_box("a", critical=True), _box("b", 2)], "t"))  # noqa: S314 - our own output
    groups = root.findall(f".//{SVG}g[@role='listitem']")
    marks = [
        (group.find(f"{SVG}rect[@class='bar']") is not None, "critical" in "".join(group.itertext()))
        for group in groups
    ]
    assert marks == [(True, True), (False, False)]


def test_svg_has_colours_for_dark_pages_and_does_not_style_the_page_around_it() -> None:
    style = to_svg([_box("a")], "t").partition("<style>")[2].partition("</style>")[0]
    assert "@media (prefers-color-scheme: dark)" in style
    selectors = re.findall(r"^\s*([^@{}\n]+) \{", style, re.MULTILINE)
    assert selectors
    assert all(part.strip().startswith(".slipway-graph ") for line in selectors for part in line.split(","))


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_can_be_drawn(name: str) -> None:
    boxes = [_box(name), _box("child", 2, name)]
    text = to_svg(boxes, name)
    root = ElementTree.fromstring(text)  # noqa: S314 - our own output
    assert len(root.findall(f".//{SVG}g[@role='listitem']")) == 2
    assert not root.findall(f".//{SVG}b")
    assert not {"\x1b", "\a"} & {*text, *to_dot(boxes, name), *to_mermaid(boxes, name)}


def test_long_names_are_cut_in_the_middle_and_told_in_full() -> None:
    name = f"{'compute-' * 10}rack-17"
    root = ElementTree.fromstring(to_svg([_box(name)], "t"))  # noqa: S314 - our own output
    shown = root.findtext(f".//{SVG}text[@class='name']") or ""
    assert (len(shown), shown.endswith("rack-17")) == (43, True)
    assert name in (root.findtext(f".//{SVG}g/{SVG}title") or "")


def test_boxes_of_a_picture_do_not_overlap_and_lie_inside() -> None:
    boxes = [_box(f"group-{n}", n + 1, *(f"group-{p}" for p in range(max(0, n - 7), n, 3))) for n in range(30)]
    root = ElementTree.fromstring(to_svg(boxes, "t"))  # noqa: S314 - our own output
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    rectangles = []
    for rectangle in root.findall(f".//{SVG}g[@role='listitem']/{SVG}rect[@rx='8']"):
        x, y, w, h = (float(rectangle.get(key, 0)) for key in ("x", "y", "width", "height"))
        assert x >= 0
        assert x + w <= width
        assert y >= 0
        assert y + h <= height
        rectangles.append((x, y, w, h))
    assert len(rectangles) == 30
    for place, (x, y, w, h) in enumerate(rectangles):
        for x2, y2, w2, h2 in rectangles[place + 1 :]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_dot_and_mermaid_of_a_small_strategy() -> None:
    boxes = [_box("first", 1, critical=True), _box('se"cond', 2, "first")]
    assert '"first" -> "se\\"cond";' in to_dot(boxes, "t")
    assert '"first" [label="1. first\\ncritical · 3 nodes\\n≥ 50 %", style="rounded,bold"' in to_dot(boxes, "t")
    mermaid = to_mermaid(boxes, "t").splitlines()
    assert mermaid[0] == "flowchart LR"
    assert '  g2["2. se#quot;cond<br/>3 nodes<br/>≥ 50 %"]' in mermaid
    assert "  g1 --> g2" in mermaid


def test_the_picture_in_the_documentation_is_the_example_site(example: Path) -> None:
    picture = ROOT / "docs" / "images" / "groups.svg"
    drawn = CliRunner().invoke(main, ["plan", str(example), "--graph", "svg"]).stdout
    assert picture.read_text(encoding="utf-8") == drawn, (
        "draw it again: slipway plan … --graph svg -f docs/images/groups.svg"
    )
