"""The embedded Airflow as a process in the background: `python -m slipway_cli.embedded [PARENT-PID]`.

SLIPWAY_* variables tell it what to be like.
"""

from __future__ import annotations

import signal
import sys
from functools import partial

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.processes import die_with_parent
from slipway_cli.embedded.settings import EmbeddedSettings
from slipway_cli.embedded.supervisor import Supervisor
from strategy_lib.settings import SettingError

_say = partial(print, flush=True)


def main() -> int:
    """Run until SIGTERM, SIGINT or SIGHUP, or until the parent given as an argument dies.

    Returns
    -------
    The exit status: 1 when it could not be started or had to give up; what was wrong is on standard error.
    """
    if len(sys.argv) > 1 and not die_with_parent(int(sys.argv[1]), signal.SIGTERM):
        return 1
    try:
        Supervisor(EmbeddedSettings.from_environment(), _say).run(lambda runtime, _: _say(f"ready: {runtime.url}"))
    except (SlipwayCliError, SettingError) as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
