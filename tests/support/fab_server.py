"""Airflow's API server with FAB and Slipway's plugin, in a Python that has both; started by `tests/e2e/test_fab.py`.

It makes its database, and then does what its input says, one JSON list of words a line: a command of `airflow`, or
`serve`, with the port. It answers each with one JSON line of the status and of what was printed.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
import threading
from pathlib import Path


def prepare() -> None:
    """Make Airflow's database, and let Slipway's DAGs be known in it, as the DAG processor does."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.utils import db

    db.initdb()
    DagBundlesManager().sync_bundles_to_db()
    dags = Path(__file__).parents[2] / "dags"
    bag = DagBag(dag_folder=str(dags), bundle_name="slipway", bundle_path=dags)
    sync_bag_to_db(bag, "slipway", None)


def airflow(words: list[str]) -> tuple[int, str]:
    """Run a command of `airflow` here: each by itself would load Airflow anew."""
    from airflow.cli import cli_parser

    printed = io.StringIO()
    status = 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            arguments = cli_parser.get_parser().parse_args(words)
            arguments.func(arguments)
        except SystemExit as end:
            status = int(end.code) if isinstance(end.code, int) else int(end.code is not None)
    return status, printed.getvalue()


def serve(port: int) -> None:
    """Serve Airflow's application on loopback, in a thread."""
    import uvicorn
    from airflow.api_fastapi.app import create_app

    server = uvicorn.Server(
        uvicorn.Config(create_app(apps="core"), host="127.0.0.1", port=port, log_level="warning", lifespan="off")
    )
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        threading.Event().wait(0.05)


def main() -> None:
    """Do what the input says until it ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    prepare()
    for line in sys.stdin:
        words = shlex.split(json.loads(line))
        if words[0] == "serve":
            serve(int(words[1]))
            done = (0, "")
        else:
            done = airflow(words[1:])
        print(json.dumps(done), file=answers, flush=True)


if __name__ == "__main__":
    main()
