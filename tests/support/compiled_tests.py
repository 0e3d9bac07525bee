"""Tests and what they import are compiled once, before the workers of pytest-xdist would all do so side by side.

In a fresh clone that is a third of what a worker needs until its first test.
"""

from __future__ import annotations

import compileall
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

_NO_SOURCES = {"__pycache__", "build", "dist", "docs", "node_modules"}


def compile_tests(config: pytest.Config, paths: Iterable[Path]) -> None:
    """Write the compiled form of all Python files below these paths, unless it is there: of tests, pytest's own form.

    What cannot be compiled is left to the one who imports it, and says what is wrong with it.
    """
    if sys.dont_write_bytecode:
        return
    for file in _files(paths):
        try:
            if file.name == "conftest.py" or file.name.startswith("test_"):
                _compile_test(config, file)
            else:
                compileall.compile_file(file, quiet=2)
        except (OSError, SyntaxError, ValueError):
            continue


def compiled_test(file: Path) -> Path:
    """Return where pytest looks for the compiled form of a test."""
    return rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"


def _compile_test(config: pytest.Config, file: Path) -> None:
    compiled = compiled_test(file)
    if rewrite._read_pyc(file, compiled) is None and rewrite.try_makedirs(compiled.parent):
        source_hash, code = rewrite._rewrite_test(file, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source_hash, compiled)


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            yield path
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name not in _NO_SOURCES and not name.startswith("."))
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))
