"""What Airship's command line `shipyard` sends, and what it reads of the answers: recorded, in our own words.

Each method is one command. Query strings, capitals, header names and empty bodies are as the real client sends them;
each ``*_row`` function reads the very fields that it prints, and fails where it would print nonsense.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import requests
import yaml
from keystoneauth1 import session
from keystoneauth1.identity import v3

YAML = "application/x-yaml"
Row = tuple[Any, ...]


class Refused(Exception):
    """The client gives up at once: 401 and 403 on all requests, 400 and 409 on those that write."""

    def __init__(self, answer: requests.Response) -> None:
        super().__init__(f"{answer.status_code}: {answer.text}")
        self.status = answer.status_code
        self.body = answer.json()


class ShipyardClient:
    """Airship's client, logged in with Keystone's own library as it is."""

    def __init__(self, auth_url: str, user: str, password: str, marker: str | None = None, verbosity: int = 1) -> None:
        self.auth = session.Session(
            auth=v3.Password(
                auth_url=auth_url,
                username=user,
                password=password,
                project_name="service",
                user_domain_name="default",
                project_domain_name="default",
            )
        )
        self.marker = marker
        self.verbosity = verbosity

    def endpoint(self) -> str:
        """Return where Keystone's catalog says that Shipyard is."""
        found = self.auth.get_endpoint(interface="public", service_type="shipyard")
        assert found is not None
        return str(found)

    def _headers(self) -> dict[str, str | None]:
        headers = self.auth.get_auth_headers()
        assert headers is not None
        # `requests` leaves a header out whose value is None, and so does the client without --context-marker.
        return {"X-Context-Marker": self.marker, "X-Auth-Token": headers["X-Auth-Token"]}

    def _post(
        self, path: str, query: Mapping[str, Any] | None = None, data: str = "", content_type: str = YAML
    ) -> requests.Response:
        answer = requests.post(
            f"{self.endpoint()}/{path}",
            data=data or {},
            params={**(query or {}), "verbosity": self.verbosity},
            headers=self._headers() | {"content-type": content_type},
            timeout=300,
        )
        if answer.status_code in (400, 401, 403, 409):
            raise Refused(answer)
        return answer

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> requests.Response:
        answer = requests.get(
            f"{self.endpoint()}/{path}",
            params={**(query or {}), "verbosity": self.verbosity},
            headers=self._headers(),
            timeout=300,
        )
        if answer.status_code in (401, 403):
            raise Refused(answer)
        return answer

    def create_configdocs(
        self, collection: str, documents: Iterable[Any], mode: str | None = None, *, empty: bool = False
    ) -> requests.Response:
        """``create configdocs``: documents are parsed and written anew; without a mode there is none in the query."""
        query = {"buffermode": mode} | ({"empty-collection": True} if empty else {})
        return self._post(f"configdocs/{collection}", query, "" if empty else yaml.safe_dump_all(documents))

    def commit_configdocs(self, *, force: bool = False, dryrun: bool = False) -> requests.Response:
        """``commit configdocs``: no body, and ``force=False&dryrun=False`` with capitals."""
        return self._post("commitconfigdocs", {"force": force, "dryrun": dryrun})

    def get_configdocs(self, versions: Sequence[str] = ("committed", "buffer")) -> requests.Response:
        """``get configdocs``: the parameter ``versions`` twice."""
        return self._get("configdocs", {"versions": list(versions)})

    def get_collection(self, collection: str, version: str = "buffer", *, cleartext: bool = False) -> requests.Response:
        """``get configdocs --collection``."""
        return self._get(f"configdocs/{collection}", _version(version, cleartext))

    def get_rendered(self, version: str = "buffer", *, cleartext: bool = False) -> requests.Response:
        """``get renderedconfigdocs``."""
        return self._get("renderedconfigdocs", _version(version, cleartext))

    def create_action(
        self, name: str, parameters: Mapping[str, str] | None = None, *, allow_intermediate: bool = False
    ) -> requests.Response:
        """``create action``: JSON; the values of ``--param`` are text."""
        body = json.dumps({"name": name, "parameters": dict(parameters or {})})
        query = {"allow-intermediate-commits": allow_intermediate}
        return self._post("actions", query, body, "application/json")

    def get_actions(self) -> requests.Response:
        """``get actions``."""
        return self._get("actions")

    def describe_action(self, action: str) -> requests.Response:
        """``describe action``."""
        return self._get(f"actions/{action}")

    def describe_step(self, action: str, step: str) -> requests.Response:
        """``describe step``."""
        return self._get(f"actions/{action}/steps/{step}")

    def describe_validation(self, action: str, validation: str) -> requests.Response:
        """``describe validation``."""
        return self._get(f"actions/{action}/validations/{validation}")

    def logs_step(self, action: str, step: str, attempt: str | None = None) -> requests.Response:
        """``logs step``: the number of the try is text."""
        return self._get(f"actions/{action}/steps/{step}/logs", {"try": attempt} if attempt else {})

    def control(self, action: str, verb: str) -> requests.Response:
        """``stop``, ``pause``, ``unpause``: no body, though its type is said to be YAML."""
        return self._post(f"actions/{action}/control/{verb}")

    def describe_notedetails(self, note: str) -> requests.Response:
        """``describe notedetails``."""
        return self._get(f"notedetails/{note}")

    def get_workflows(self, since: str | None = None) -> requests.Response:
        """``get workflows``."""
        return self._get("workflows", {"since": since})

    def describe_workflow(self, workflow: str) -> requests.Response:
        """``describe workflow``."""
        return self._get(f"workflows/{workflow}")

    def get_site_statuses(self, *types: str) -> requests.Response:
        """``get site-statuses``: types joined with a comma, or no parameter."""
        return self._get("site_statuses", {"filters": ",".join(types)} if types else {})


def _version(version: str, cleartext: bool) -> dict[str, str]:
    return {"version": version} | ({"cleartext-secrets": "true"} if cleartext else {})


def shown(answer: requests.Response) -> str:
    """Return what ``--output-format=format`` prints: the type of the body decides how it is read.

    An answer that is called JSON but is not is printed with a remark. Every other type is read as YAML; an answer that
    is not YAML ends the client with a traceback.
    """
    if "json" in answer.headers["Content-Type"]:
        try:
            return json.dumps(answer.json(), sort_keys=True, indent=4)
        except ValueError:
            return f"This is not json and could not be printed as such. \n{answer.text}"
    return str(yaml.dump_all(yaml.safe_load_all(answer.content), width=79, indent=4, default_flow_style=False))


def status_row(body: Mapping[str, Any]) -> Row:
    """Return what is printed of a status or an error: message, reason, and the messages, the worst first."""
    details = body["details"]
    ranked = sorted(details["messageList"], key=lambda message: _rank(message["level"]))
    return body["message"], body["reason"], [_message_row(message) for message in ranked]


def _rank(level: str) -> int:
    ranks = [["error", "fatal"], ["warn", "warning"], ["info", "debug"]]
    return next(rank for rank, words in enumerate(ranks) if level.lower() in words)


def _message_row(message: Mapping[str, Any]) -> Row:
    assert message["kind"] == "ValidationMessage"
    documents = [(document["schema"], document["name"]) for document in message["documents"]]
    return message["level"], message["name"], message["message"], message["diagnostic"], documents, message["source"]


def action_row(action: Mapping[str, Any]) -> Row:
    """Return a line of the table of actions; it is sorted by ``id``."""
    states = [step.get("state") for step in action["steps"]]
    succeeded, failed = states.count("success"), states.count("failed")
    return (
        action["name"],
        f"action/{action['id']}",
        action["action_lifecycle"],
        action["dag_execution_date"],
        f"{succeeded}/{failed}/{len(states) - succeeded - failed}",
        note_rows(action["notes"]),
    )


def detail_row(action: Mapping[str, Any]) -> Row:
    """Return the description of an action: its facts, steps, commands, validations and notes."""
    facts = ("name", "id", "action_lifecycle", "parameters", "datetime", "dag_status", "context_marker", "user")
    steps = [(step["id"], step["index"], step["state"], note_rows(step["notes"])) for step in action["steps"]]
    commands = [(command["command"], command["user"], command["datetime"]) for command in action["command_audit"]]
    return tuple(action[fact] for fact in facts), steps, commands, action["validations"], note_rows(action["notes"])


def step_row(step: Mapping[str, Any]) -> Row:
    """Return the description of a step."""
    fields = ("task_id", "index", "state", "start_date", "end_date", "duration", "try_number", "operator")
    return (*(step[field] for field in fields), note_rows(step["notes"]))


def note_rows(notes: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return notes as they are printed; one that lacks a field would be called unparseable."""
    fields = ("sub_type", "subject", "note_timestamp", "note_val", "resolved_url_value")
    return [tuple(note[field] for field in fields) for note in notes]


def collection_rows(collections: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the table of collections, each with the title that is made of it."""
    fields = ("collection_name", "base_status", "new_status", "base_version", "base_revision", "new_version")
    return [(*(collection[field] for field in fields), collection["new_revision"]) for collection in collections]


def workflow_row(workflow: Mapping[str, Any]) -> Row:
    """Return the description of a workflow with its steps; sub-workflows are described alike."""
    fields = ("workflow_id", "state", "dag_id", "execution_date", "start_date", "end_date", "external_trigger")
    steps = [(step["task_id"], step["state"]) for step in workflow["steps"]]
    return (*(workflow[field] for field in fields), steps, [workflow_row(sub) for sub in workflow["sub_dags"]])


def status_rows(statuses: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Return the tables of machines; another key than these two would be printed as an error."""
    tables = {"nodes_provision_status": ("hostname", "status"), "machines_powerstate": ("hostname", "power_state")}
    return {key: [tuple(row[field] for field in tables[key]) for row in statuses[key]] for key in statuses}
