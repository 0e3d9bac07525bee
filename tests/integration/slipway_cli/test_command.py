"""The command as a process of its own: exit status, streams, and what it imports."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Process = Callable[..., subprocess.CompletedProcess[bytes]]


def test_help_and_offline_commands_load_neither_airflow_nor_a_database(example: Path) -> None:
    program = f"""
import sys
from slipway_cli.main import main
for arguments in (["--help"], ["validate", {str(example)!r}], ["plan", {str(example)!r}, "--graph", "svg"],
                  ["simulate", {str(example)!r}]):
    try:
        main(arguments)
    except SystemExit as end:
        assert not end.code, end.code
loaded = {{"airflow", "sqlalchemy", "alembic", "requests", "fastapi"}} & set(sys.modules)
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_what_asks_a_server_loads_neither_airflow_nor_a_database(tmp_path: Path) -> None:
    program = """
import sys
from slipway_cli.main import main
try:
    main(["import", "maas"])
except SystemExit as end:
    assert end.code == 1, end.code
loaded = {"airflow", "sqlalchemy", "alembic", "fastapi"} & set(sys.modules)
assert not loaded, loaded
"""
    nobody = {**os.environ, "SLIPWAY_URL": "http://127.0.0.1:9", "SLIPWAY_TOKEN": "x", "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
        env=nobody,
    )
    assert done.returncode == 0, done.stderr
    assert "does not answer" in done.stderr


def test_a_real_process_exits_0_1_and_2(process: Process, example: Path) -> None:
    assert process("validate", example).returncode == 0
    failed = process("simulate", example, "--fail", "deploy:ntp01", "-o", "json")
    assert (failed.returncode, failed.stderr) == (1, b"")
    assert process("plan", "missing.yaml").returncode == 2


@pytest.mark.endurance
def test_a_pipe_gets_no_colours_and_whole_lines(process: Process, example: Path) -> None:
    done = process("plan", "-", stdin=example.read_bytes(), FORCE_COLOR="")
    text = done.stdout.decode()
    assert (done.returncode, "\x1b" in text) == (0, False)
    assert re.search(r"^control-nodes +r3-control-\[01-10\] *$", text, re.MULTILINE)


@pytest.mark.endurance
def test_no_color_is_obeyed(process: Process, example: Path) -> None:
    coloured = process("simulate", example, FORCE_COLOR="1").stdout
    assert b"\x1b[32m" in coloured
    assert b"\x1b[32m" not in process("simulate", example, FORCE_COLOR="1", NO_COLOR="1").stdout


def test_closed_streams_give_no_traceback(example: Path) -> None:
    for arguments in (f"plan {example} -o json | head -c 1", "validate - <&-", f"plan {example} >&-"):
        line = f"{sys.executable} -m slipway_cli {arguments}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        "plan FILE",
        "--help",
        *(
            pytest.param(options, marks=pytest.mark.endurance)
            for options in ("plan FILE -o json", "validate FILE", "simulate FILE")
        ),
    ],
)
def test_output_that_cannot_be_written_is_told_in_one_line(example: Path, options: str) -> None:
    line = f"{sys.executable} -m slipway_cli {options.replace('FILE', str(example))} > /dev/full"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "Error: the output cannot be written: No space left on device.\n",
    )


@pytest.mark.endurance
def test_a_terminal_that_knows_only_ascii_gives_no_traceback(process: Process, example: Path) -> None:
    done = process("plan", example, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")


def test_bash_itself_completes() -> None:
    script = (
        'eval "$(slipway completion bash)"; COMP_WORDS=(slipway create action des) COMP_CWORD=3; '
        '_slipway_completion slipway des action; echo "${COMPREPLY[@]}"'
    )
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["destroy_nodes"], done.stderr


def test_ctrl_c_while_a_server_does_not_answer_is_status_130_and_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        nobody = {"SLIPWAY_URL": f"http://127.0.0.1:{silent.getsockname()[1]}", "SLIPWAY_TOKEN": "x"}
        environ = {**os.environ, **nobody, "XDG_CONFIG_HOME": str(tmp_path)}
        command = [sys.executable, "-m", "slipway_cli", "get", "sites"]
        with subprocess.Popen(
            command,
            env=environ,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A test run in the background ignores Ctrl-C, and would hand that on.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        ) as process:
            asked, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)
            asked.close()
    assert (process.returncode, *said) == (130, b"", b"interrupted\n")
