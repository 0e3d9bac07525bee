"""What the workers of pytest-xdist import is compiled before them, in the form in which they look for it."""

from __future__ import annotations

import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import _read_pyc

from tests.support.compiled_tests import compile_tests, compiled_test


def test_tests_are_compiled_for_pytest_and_all_else_for_python(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    test, broken, helper, hidden = (tmp_path / name for name in ("test_a.py", "test_b.py", "c/d.py", ".venv/test_e.py"))
    for folder in (helper.parent, hidden.parent):
        folder.mkdir()
    for file in (test, helper, hidden):
        file.write_text("def test_it():\n    assert 1 == 2\n")
    broken.write_text("def test_it(:\n")
    compile_tests(pytestconfig, [tmp_path])
    code = _read_pyc(test, compiled_test(test))
    assert code is not None
    assert "@pytest_ar" in code.co_names, "its asserts say what they compared"
    assert Path(cache_from_source(str(helper))).exists()
    assert not compiled_test(broken).exists()
    assert not compiled_test(hidden).exists()
    test.write_text("def test_it():\n    assert 1 == 3\n")
    assert _read_pyc(test, compiled_test(test)) is None
    compile_tests(pytestconfig, [tmp_path])
    assert _read_pyc(test, compiled_test(test)) is not None
