"""What the stylesheet promises in both themes and on a narrow page; and that a keyboard reaches every control."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from slipway_api.pages import rendering
from strategy_lib.status.words import Status

PAGES = Path(rendering.__file__).parent
SHEET = re.sub(r"/\*.*?\*/", "", (PAGES / "static" / "slipway.css").read_text(), flags=re.DOTALL)
TEMPLATES = sorted((PAGES / "templates").rglob("*.html"))
NARROW = 390
"""Pixels of the narrowest page."""
READABLE = 4.5
"""The least contrast of text, by WCAG 2.2 AA."""
TEXTS = ("fg", "muted", "link", "critical", "older", *(status.value for status in Status))
GROUNDS = ("bg", "softer")
PRESSABLE = ("a", "button", "input", "select", "textarea", "summary")


def blocks(css: str) -> Iterator[tuple[str, str]]:
    """Yield each selector, or condition of media, with what stands in its braces."""
    at = 0
    while (start := css.find("{", at)) >= 0:
        depth, end = 1, start + 1
        while depth:
            depth += {"{": 1, "}": -1}.get(css[end], 0)
            end += 1
        yield " ".join(css[at:start].split()), css[start + 1 : end - 1]
        at = end


def colours(body: str) -> dict[str, str]:
    """Return the colours that a block names."""
    return dict(re.findall(r"--([a-z-]+):\s*(#[0-9a-f]{6})", body))


def themes() -> dict[str, dict[str, str]]:
    found = dict(blocks(SHEET))
    wish = dict(blocks(found["@media (prefers-color-scheme: dark)"]))
    return {
        "light": colours(found[":root"]),
        "dark": colours(found[':root[data-theme="dark"]']),
        "dark by wish of the system": colours(wish[":root:not([data-theme])"]),
    }


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb`, as WCAG defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == 21
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", themes())
@pytest.mark.parametrize("ground", GROUNDS)
def test_every_text_can_be_read_on_every_ground(theme: str, ground: str) -> None:
    known = themes()[theme]
    found = {text: round(contrast(known[text], known[ground]), 2) for text in TEXTS}
    assert {text: ratio for text, ratio in found.items() if ratio < READABLE} == {}


@pytest.mark.parametrize("theme", themes())
def test_every_status_can_be_read_on_its_own_ground(theme: str) -> None:
    known = themes()[theme]
    found = {}
    for word in (*(status.value for status in Status), "older"):
        soft = known.get(f"{word}-soft", known["pending-soft"])
        found[word] = min(contrast(known[word], soft), contrast(known["fg"], soft))
    assert {status: ratio for status, ratio in found.items() if ratio < READABLE} == {}


def test_buttons_that_have_a_colour_of_their_own_can_be_read() -> None:
    found = re.findall(r"background: (#[0-9a-f]{6}); border-color: #[0-9a-f]{6}; color: #fff;", SHEET)
    assert len(found) == 2
    assert [colour for colour in found if contrast(colour, "#ffffff") < READABLE] == []


def test_dark_is_the_same_whether_airflow_or_the_system_asks_for_it() -> None:
    light, dark, wished = themes().values()
    assert dark == wished
    assert dark.keys() == light.keys()


def test_nothing_is_wider_than_a_narrow_page() -> None:
    """What has a width of its own is bounded by its place; only what scrolls in its own box may be wider."""
    rules = [rule for rule in blocks(SHEET) if not rule[0].startswith("@media (min-width")]
    rules += [inner for name, body in rules if name.startswith("@media") for inner in blocks(body)]
    wide = [
        (name, pixels)
        for name, body in rules
        if not name.startswith("@media")
        for pixels in re.findall(r"(?<![a-z-])(?:min-width|width):[^;]*?(\d+)px", body)
        if int(pixels) > NARROW and "100%" not in body
    ]
    assert wide == []
    by_name = dict(rules)
    for scrolls in (".drawing", ".diff"):
        assert re.search(r"overflow(-x)?: auto", by_name[scrolls])


class Controls(HTMLParser):
    """Collects what a mouse can press and a keyboard could not, and fields without a name."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self._labels = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._labels += tag == "label"
        place = given.get("tabindex")
        if place is not None and place not in ("0", "-1"):
            self.wrong.append(f"{tag}: tabindex {place} breaks the order")
        if given.get("role") in ("button", "link", "checkbox") and tag not in PRESSABLE:
            self.wrong.append(f"{tag}: a {given['role']} that is none")
        if any(name.startswith("on") for name in given):
            self.wrong.append(f"{tag}: a script of its own, which the policy refuses")
        named = self._labels or given.get("aria-label") or given.get("aria-labelledby")
        if tag in ("input", "select", "textarea") and given.get("type") != "hidden" and not named:
            self.wrong.append(f"{tag} {given.get('name')}: no label")
        if tag == "a" and "href" not in given and "id" not in given:
            self.wrong.append("a: no place to go to, so that no key reaches it")

    def handle_endtag(self, tag: str) -> None:
        self._labels -= tag == "label"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.relative_to(PAGES / "templates").as_posix())
def test_a_keyboard_reaches_every_control_and_each_field_has_a_name(template: Path) -> None:
    # What Jinja puts in does not matter here; quotes of its own within an attribute would end it.
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}", "", template.read_text(), flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", "x", text, flags=re.DOTALL)
    controls = Controls()
    controls.feed(text)
    assert controls.wrong == []


def test_where_the_keyboard_is_can_be_seen() -> None:
    (focused,) = [name for name, body in blocks(SHEET) if "outline: 2px solid" in body]
    assert {f"{tag}:focus-visible" for tag in PRESSABLE} <= {one.strip() for one in focused.split(",")}
    for theme, known in themes().items():
        assert contrast(known["processing"], known["bg"]) >= 3, theme
