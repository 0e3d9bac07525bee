"""What can go wrong with the embedded Airflow; every message says what to do."""

from __future__ import annotations

from pathlib import Path

from slipway_cli import SlipwayCliError


class EmbeddedError(SlipwayCliError):
    """The embedded Airflow cannot do this; the message says what to do."""


class PortInUse(EmbeddedError):
    """The port is in use: stop the program that listens there, or choose another port."""

    def __init__(self, port: int, purpose: str, variable: str) -> None:
        super().__init__(f"port {port} ({purpose}, {variable}) is in use; stop what listens there or set {variable}")
        self.port = port


class AlreadyRunning(EmbeddedError):
    """Another embedded Airflow works in this SLIPWAY_HOME; use it, stop it, or choose another SLIPWAY_HOME."""

    def __init__(self, home: Path, detail: str) -> None:
        super().__init__(
            f"{home} is in use by another embedded Airflow ({detail}); use or stop that one, or set SLIPWAY_HOME"
        )
        self.home = home


class UnusableHome(EmbeddedError):
    """The folder for everything cannot be written, or is not the user's alone; choose another one."""

    def __init__(self, home: Path, reason: str, instead: str = "") -> None:
        """`reason` says what is wrong, `instead` what would also help."""
        also = f", or, if it is yours alone, {instead}" if instead else ""
        super().__init__(f"{home} cannot be used ({reason}); choose another folder with --home or SLIPWAY_HOME{also}")


class StepFailed(EmbeddedError):
    """A step of the set-up (a database migration) failed; read its log."""

    def __init__(self, what: str, log: Path, tail: str) -> None:
        super().__init__(f"{what} failed; its log {log} ends:\n{tail}")
        self.log = log


class ComponentFailed(EmbeddedError):
    """A component keeps dying or does not get healthy in time; read its log."""

    def __init__(self, title: str, what: str, log: Path, tail: str) -> None:
        super().__init__(f"{title} {what}; its log {log} ends:\n{tail}")
        self.log = log


class Interrupted(EmbeddedError):
    """Stopped by a signal before Airflow was ready."""

    def __init__(self) -> None:
        super().__init__("stopped before Airflow was ready")


class SimulatorFailed(EmbeddedError):
    """The simulator cannot be started; read its log."""

    def __init__(self, log: Path, tail: str) -> None:
        super().__init__(f"the provisioner's simulator cannot be started; its log {log} ends:\n{tail}")
        self.log = log


class PostgresUnusable(EmbeddedError):
    """The embedded PostgreSQL cannot be set up here; the message says why and what to do."""
