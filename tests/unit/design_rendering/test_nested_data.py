"""Paths as Deckhand's sites write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from design_rendering.reading.nested_data import steps_of


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        (".", ()),
        ("$", ()),
        (".a", ("a",)),
        ("$.a.b", ("a", "b")),
        (".a[0].b[12]", ("a", 0, "b", 12)),
        (".a[0][1]", ("a", 0, 1)),
        ("[0]", (0,)),
        ("$[0].a", (0, "a")),
        (".[0].a", (0, "a")),
        (".controller-manager.x_1", ("controller-manager", "x_1")),
        (".a.'b.c'", ("a", "b.c")),
        ('.a."b c"', ("a", "b c")),
        (".a['b/c']", ("a", "b/c")),
        ('.a["x[0]"].y', ("a", "x[0]", "y")),
        (".8080", ("8080",)),
        (".kubernetes/io:x", ("kubernetes/io:x",)),
        (".a.", None),
        (".a[", None),
        (".a[-1]", None),
        (".a[b]", None),
        ("..a", None),
        (".a.*", None),
        (".a[*]", None),
        (".a[1,2]", None),
        ("a", None),
        ("", None),
        (".'a", None),
        ("." + "a." * 70 + "b", None),
        ("." + "a" * 3000, None),
    ],
)
def test_paths(path: str, steps: tuple[object, ...] | None) -> None:
    if steps is None:
        with pytest.raises(ValueError):
            steps_of(path)
    else:
        assert steps_of(path) == steps


@given(st.text())
def test_any_text_is_a_path_or_is_refused(text: str) -> None:
    try:
        steps = steps_of(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017
    else:
        assert all(isinstance(step, str | int) for step in steps)
