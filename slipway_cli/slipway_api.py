"""A client of Slipway's own REST API, which its plugin serves on Airflow's port and with Airflow's tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from slipway_cli.api_session import ApiError, ApiRefused, ApiSession


class DesignRefused(ApiError):
    """The documents were refused; mend the problems listed, or see them all with `slipway validate`."""

    def __init__(self, message: str, problems: list[str]) -> None:
        super().__init__("\n".join([message, *("  " + problem for problem in problems)]))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Revision:
    """A committed revision of a site; `created` is False when the newest one had the same content."""

    site: str
    number: int
    digest: str
    created: bool
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """Where a group stands. `counts` has total, prepared, success, failure, unknown and not_started."""

    name: str
    state: str
    reason: str | None
    critical: bool
    phase: str | None
    counts: Mapping[str, int]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> GroupProgress:
        """Read one of the `groups` of a run."""
        return cls(
            name=data["name"],
            state=data["state"],
            reason=data.get("reason"),
            critical=bool(data.get("critical")),
            phase=data.get("phase"),
            counts=data.get("counts") or {},
        )


@dataclass(frozen=True, slots=True)
class RunProgress:
    """An action as it stands: its groups in the order of processing, and its report once there is one."""

    state: str | None
    verdict: str | None
    groups: tuple[GroupProgress, ...]
    report: Mapping[str, Any] | None
    report_text: str | None


class SlipwayApi:
    """What the command line needs of Slipway's API."""

    def __init__(self, session: ApiSession) -> None:
        self._session = session

    def commit(self, site: str, text: str) -> Revision:
        """Commit documents as the site's wanted design.

        Raises
        ------
        DesignRefused
            The documents have errors; all of them are named.
        ApiRefused, ApiUnreachable
        """
        try:
            answer = self._session.request(
                f"committing {site}",
                "POST",
                f"/slipway/api/v1.0/sites/{quote(site, safe='')}/revisions",
                data=text.encode(),
                headers={"Content-Type": "application/x-yaml"},
            )
        except ApiRefused as error:
            if error.status == 400 and isinstance(error.detail, Mapping):
                raise _refusal(site, error.detail) from error
            raise
        data = answer.json()
        return Revision(
            site=data["site"],
            number=data["revision"],
            digest=data["digest"],
            created=data["created"],
            warnings=tuple(_text(warning) for warning in data.get("warnings") or ()),
        )

    def progress(self, dag_id: str, run_id: str) -> RunProgress | None:
        """How the action of a DAG run stands; None while Slipway has not heard of it."""
        path = f"/slipway/api/v1.0/runs/{quote(dag_id, safe='')}/{quote(run_id, safe='')}"
        try:
            data = self._session.request(f"reading the progress of {run_id}", "GET", path).json()
        except ApiRefused as error:
            if error.status == 404:
                return None
            raise
        action = data.get("action") or {}
        return RunProgress(
            state=action.get("state"),
            verdict=action.get("verdict"),
            groups=tuple(GroupProgress.from_json(group) for group in data.get("groups") or ()),
            report=data.get("report"),
            report_text=data.get("report_text"),
        )


def _refusal(site: str, detail: Mapping[str, Any]) -> DesignRefused:
    inner = detail.get("detail")
    source = inner if isinstance(inner, Mapping) else detail
    messages = (source.get("details") or {}).get("messageList") or []
    return DesignRefused(
        str(source.get("message") or f"the design of {site} was refused"), [_text(m) for m in messages]
    )


def _text(message: Any) -> str:
    return str(message.get("message", message)) if isinstance(message, Mapping) else str(message)
