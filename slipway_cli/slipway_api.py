"""A client of Slipway's own REST API, which its plugin serves on Airflow's port and with Airflow's tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from slipway_cli.api_session import ApiError, ApiRefused, ApiSession, read_json, sentence

API = "/slipway/api/v1.0"
_PATIENCE = 300.0
"""Seconds for an answer for which the provisioner reads the whole design."""
_COLLECTION = "design"
_NO_SUCH_SITE = 404


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
class Action:
    """An action, and the DAG run that carries it out. `state` is pending, running, success, failed or cancelled."""

    id: str
    run_id: str
    kind: str
    state: str
    marker: str | None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.state not in ("pending", "running")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Action:
        """Read an action as the API shows it."""
        return cls(
            id=data["id"],
            run_id=data["run_id"],
            kind=data["name"],
            state=data["state"],
            marker=data.get("context_marker"),
        )


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
    """An action as it stands: its groups in the order of processing, and its report once there is one.

    `step` is the last step that has begun; `paused` means that no further group starts.
    """

    state: str | None
    verdict: str | None
    groups: tuple[GroupProgress, ...]
    report: Mapping[str, Any] | None
    report_text: str | None
    step: str | None = None
    paused: bool = False


class SlipwayApi:
    """What the demo and the following of actions need of Slipway's API."""

    def __init__(self, session: ApiSession) -> None:
        self._session = session

    def commit(self, site: str, text: str) -> Revision:
        """Make these documents, and no others, the site's wanted design. What was in its buffer is lost.

        Raises
        ------
        DesignRefused
            The documents have errors; all of them are named.
        ApiRefused, ApiUnreachable
        """
        newest = self._newest(site)
        digest = hashlib.sha256(text.encode()).hexdigest()
        held = {each["name"]: each["digest"] for each in newest["collections"]} if newest is not None else {}
        if newest is not None and held == {_COLLECTION: digest}:
            return Revision(site, newest["revision"], newest["digest"], created=False, warnings=())
        try:
            tag = self._load(site, text, digest, held)
            answer = self._session.request(
                f"committing {site}",
                "POST",
                f"{API}/commitconfigdocs",
                params={"site": site},
                headers={"If-Match": tag},  # exactly what was just loaded
                timeout=_PATIENCE,
            )
        except ApiRefused as error:
            if error.status == 400 and isinstance(error.detail, Mapping):
                raise _refusal(site, error.detail) from error
            raise
        data = read_json(f"committing {site}", answer)
        warnings = tuple(_text(message) for message in data["details"]["messageList"])
        return Revision(site, data["revision"], data["digest"], created=True, warnings=warnings)

    def _newest(self, site: str) -> Any:
        try:
            answer = self._session.request(
                f"reading the revisions of {site}", "GET", f"{API}/revisions", params={"site": site, "limit": 1}
            )
        except ApiRefused as error:
            if error.status == _NO_SUCH_SITE:
                return None
            raise
        return next(iter(read_json(f"reading the revisions of {site}", answer)), None)

    def _load(self, site: str, text: str, digest: str, held: Mapping[str, str]) -> str:
        """Fill the buffer; return its version as HTTP knows it."""
        mode, tag = "replace", ""
        wanted = {**dict.fromkeys(sorted(held), ""), _COLLECTION: text}
        for collection in sorted(wanted, key=lambda name: name == _COLLECTION):  # what is to go goes first
            if collection == _COLLECTION and held.get(_COLLECTION) == digest:
                continue
            body = wanted[collection]
            answer = self._session.request(
                f"loading {site}",
                "POST",
                f"{API}/configdocs/{quote(collection, safe='')}",
                params={"site": site, "buffermode": mode, "empty-collection": str(not body).lower()},
                data=body.encode(),
                headers={"Content-Type": "application/x-yaml"},
                timeout=_PATIENCE,
            )
            mode, tag = "append", answer.headers.get("ETag", "*")
        return tag

    def create_action(
        self, site: str, kind: str, parameters: Mapping[str, Any], *, marker: str, allow_intermediate: bool = False
    ) -> Action:
        """Start an action.

        Parameters
        ----------
        marker : a UUID by which it is recognised later.
        allow_intermediate : also when revisions before this one were never deployed.

        Raises
        ------
        ApiRefused, ApiUnreachable
        """
        what = f"creating {kind} of {site}"
        answer = self._session.request(
            what,
            "POST",
            f"{API}/actions",
            params={"site": site, "allow-intermediate-commits": str(allow_intermediate).lower()},
            json={"name": kind, "parameters": dict(parameters)},
            headers={"X-Context-Marker": marker},
            timeout=_PATIENCE,
        )
        return Action.from_json(read_json(what, answer))

    def actions(self, site: str, limit: int = 50) -> list[Action]:
        """The newest actions of a site, newest first; none of one that does not exist yet."""
        what = f"reading the actions of {site}"
        try:
            answer = self._session.request(what, "GET", f"{API}/actions", params={"site": site, "limit": limit})
        except ApiRefused as error:
            if error.status == _NO_SUCH_SITE:
                return []
            raise
        return [Action.from_json(item) for item in read_json(what, answer)]

    def action(self, action_id: str) -> Action:
        """One action; one whose run is over is shown as over."""
        what = f"reading action {action_id}"
        answer = self._session.request(what, "GET", f"{API}/actions/{quote(action_id, safe='')}")
        return Action.from_json(read_json(what, answer))

    def provisioner_problem(self, site: str) -> str | None:
        """What keeps the site's provisioner from listing its nodes, in a sentence; None when it does.

        Raises
        ------
        ApiRefused, ApiUnreachable
            The API itself does not answer as it should: of the provisioner nothing is known.
        """
        what = f"asking the provisioner of site {site}"
        query = {"site": site, "filters": "nodes-provision-status"}
        try:
            self._session.request(what, "GET", f"{API}/site_statuses", params=query)
        except ApiRefused as refused:
            if refused.status not in (502, 503):
                raise
            return sentence(refused.detail)
        return None

    def stop(self, action_id: str) -> None:
        """End an action.

        Raises
        ------
        ApiRefused
            409: it is over, or not there yet.
        """
        self._session.request(
            f"stopping action {action_id}", "POST", f"{API}/actions/{quote(action_id, safe='')}/control/stop"
        )

    def progress(self, dag_id: str, run_id: str) -> RunProgress | None:
        """How the action of a DAG run stands; None while Slipway has not heard of it."""
        path = f"{API}/runs/{quote(dag_id, safe='')}/{quote(run_id, safe='')}"
        what = f"reading the progress of {run_id}"
        try:
            data = read_json(what, self._session.request(what, "GET", path))
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
            step=action.get("step"),
            paused=bool(action.get("paused")),
        )


def _refusal(site: str, detail: Mapping[str, Any]) -> DesignRefused:
    messages = (detail.get("details") or {}).get("messageList") or []
    errors = [_text(message) for message in messages if not isinstance(message, Mapping) or message.get("error", True)]
    return DesignRefused(str(detail.get("message") or f"the design of {site} was refused"), errors)


def _text(message: Any) -> str:
    return str(message.get("message", message)) if isinstance(message, Mapping) else str(message)
