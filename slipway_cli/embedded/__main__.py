"""The embedded Airflow as a process in the background: `python -m slipway_cli.embedded [PARENT-PID]`.

SLIPWAY_* variables tell it what to be like.
"""

from __future__ import annotations

import signal
import sys

from slipway_cli.embedded.errors import EmbeddedError
from slipway_cli.embedded.lifeline import die_with_parent
from slipway_cli.embedded.settings import EmbeddedSettings
from slipway_cli.embedded.supervisor import Supervisor


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    if len(sys.argv) > 1 and not die_with_parent(int(sys.argv[1]), signal.SIGTERM):
        return 1
    try:
        Supervisor(EmbeddedSettings.from_environment(), _say).run(lambda runtime, _: _say(f"ready: {runtime.url}"))
    except EmbeddedError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
