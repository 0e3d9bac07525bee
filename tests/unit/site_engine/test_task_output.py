"""No way out of a task's process lets a secret through: logs, tracebacks, warnings, what is printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SECRETS = [f"s3cret-{number:05}-hunter2" for number in range(10_000)]
KEY = '-----BEGIN "RSA" PRIVATE KEY-----\nMIIEow-the-first-line\nMIIEow-the-second-line\n'

# What Airflow's supervisor does in the process that it starts for a task, before the task's own code runs.
_PROCESS = """
import io, logging, os, sys, warnings, threading
import structlog
from airflow.sdk.log import configure_logging, reset_logging
from airflow.sdk._shared.secrets_masker import _secrets_masker

early = structlog.get_logger("early")
old = logging.getLogger("old")
reset_logging()
configure_logging(json_output=True, output=open(sys.argv[1], "wb", buffering=0), sending_to_supervisor=True)
early.info("used before the secrets are known")

from design_rendering.redaction import Redactor
from site_engine.task_output import redact_output

secrets = [f"s3cret-{number:05}-hunter2" for number in range(10_000)]
key = sys.argv[2]
redact_output(Redactor([*secrets, key, *key.splitlines()]))
secret = secrets[4711]

early.info("structured %s", secret, detail={"list": [secret]}, other=secret)
structlog.get_logger("late").warning(f"late {secret}")
old.warning("standard %s", secret)
logging.getLogger("slipway").error("as a mapping %(secret)s", {"secret": secret}, stack_info=True)
logging.getLogger("slipway").info("the whole key: %s", key)
own = logging.StreamHandler(sys.stderr)
logging.getLogger("with.a.handler").addHandler(own)
logging.getLogger("with.a.handler").warning("own handler %s", secret)
logging.getLogger("broken").warning("one argument too many", secret)
warnings.warn(f"warned {secret}")


def fail():
    try:
        raise ValueError(f"cause {secret}")
    except ValueError as cause:
        cause.add_note(f"note {secret}")
        raise RuntimeError({"why": secret}) from cause


try:
    fail()
except RuntimeError:
    structlog.get_logger("task").exception("Task failed with exception")
    logging.getLogger("slipway").exception("failed")

print("printed", secret)
print(f"in two {secret[:10]}", end="")
print(secret[10:])
print(key)
sys.stderr.write(f"to the standard error {secret}\\n")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
print(f"without an end {secret}", end="")
assert len(_secrets_masker().patterns) < 10, "Airflow's masker is spared"
"""


def test_nothing_that_a_task_says_has_a_secret_in_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS, str(log), KEY], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    logged = log.read_text()
    lines = [json.loads(line) for line in logged.splitlines()]
    told = {line["event"]: line for line in lines}
    assert told["structured ***"]["detail"] == {"list": ["***"]}
    for event in ("late ***", "standard ***", "as a mapping ***", "own handler ***", "warned ***"):
        assert event in told
    failed = told["Task failed with exception"]
    assert [one["exc_value"] for one in failed["exception"]] == ["{'why': '***'}", "cause ***"]
    for text in ("printed ***\n", "in two ***\n", "without an end ***"):
        assert text in done.stdout
    for text in ("to the standard error ***\n", "own handler ***\n"):
        assert text in done.stderr
    for said in (logged, done.stdout, done.stderr):
        assert "4711" not in said
        assert "MIIEow" not in said
