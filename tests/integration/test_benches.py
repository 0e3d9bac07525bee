"""The measurements of `make bench` that would otherwise rot: each in its quick mode, and what they compute."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from tests.bench.bench_parallel import PLACES, shape
from tests.bench.bench_parallel_airflow import Stint, design, judge, own_path
from tests.conftest import ROOT

pytestmark = pytest.mark.endurance


def run(bench: str, *options: str) -> str:
    """Run a bench; return what it printed."""
    command = [sys.executable, "-m", f"tests.bench.{bench}", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_node_agents_are_measured_few_at_a_time() -> None:
    assert "20 node agents" in run("bench_node_agents", "--agents", "20", "--seconds", "1")


def test_too_few_open_files_are_said_and_fail() -> None:
    limited = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000)); sys.argv = ['x'];"
        "runpy.run_module('tests.bench.bench_node_agents', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited], stdout=subprocess.PIPE, text=True, check=False, timeout=300, cwd=ROOT
    )
    assert done.returncode == 1
    assert "needs 10300 open files and may have 1000" in done.stdout


def test_groups_side_by_side_are_measured_on_a_virtual_clock() -> None:
    assert "8 groups of 20 nodes" in run("bench_parallel", "--groups", "8")


def test_the_site_of_the_bench_of_airflow_is_read() -> None:
    _, after = shape(20)
    found = read_design(load_documents(design(2, after)))
    assert len(found.nodes) == 40
    assert found.settings.max_parallel_groups == PLACES
    assert {each.name: list(each.depends_on) for each in found.strategy.groups} == after


def test_the_own_path_has_the_groups_that_lie_one_after_the_other() -> None:
    work = {"a": 3.0, "b": 1.0, "c": 1.0, "d": 5.0}
    free = dict.fromkeys(work, ())
    assert own_path(work, free, 1) == (10.0, ["a", "b", "c", "d"])
    # `c` follows `b`, and `d` takes the place of `c`.
    assert own_path(work, free, 2) == (7.0, ["b", "c", "d"])
    assert own_path(work, {**free, "d": ("a",)}, 2) == (8.0, ["a", "d"])
    assert own_path(work, free, 9) == (5.0, ["d"])


def test_what_airflow_adds_is_that_of_the_path_alone(capsys: pytest.CaptureFixture[str]) -> None:
    after = dict.fromkeys(("a", "b"), ())
    # Side by side: one path of one group, which has 5 s more than its machines.
    assert judge({"a": Stint(0, 15, 10), "b": Stint(0, 12, 8)}, after, 0.5)
    assert re.search(r"more for each group of the path +5\.00 ", capsys.readouterr().out)
    assert not judge({"a": Stint(0, 17, 10), "b": Stint(0, 12, 8)}, after, 0.5)
