"""The folder that holds everything of an embedded Airflow: made, private, and found to be usable."""

from __future__ import annotations

import tempfile
from pathlib import Path

from slipway_cli.embedded.errors import UnusableHome


def make_home(home: Path) -> None:
    """Make the folder if it is not there, and close it to others.

    Raises
    ------
    UnusableHome
        It cannot be made, or nothing can be written in it.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        home.chmod(0o700)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise UnusableHome(home, error) from error
