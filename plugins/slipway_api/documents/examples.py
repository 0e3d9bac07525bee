"""Configdocs as the API's description shows them."""

from __future__ import annotations

from typing import Any

YAML = """\
schema: drydock/Region/v1
metadata:
  schema: metadata/Document/v1
  name: alpha
  layeringDefinition: {abstract: false, layer: site}
  storagePolicy: cleartext
data: {tag_definitions: []}
"""

_WARNING: dict[str, Any] = {
    "message": "site:12: $.data.groups[1].selectors: group 'spare' matches no node",
    "error": False,
    "name": "DocumentValidation",
    "documents": [{"schema": "shipyard/DeploymentStrategy/v1", "name": "deployment-strategy"}],
    "level": "Warning",
    "diagnostic": "$.data.groups[1].selectors, line 12",
    "source": "Slipway",
    "kind": "ValidationMessage",
    "text": "group 'spare' matches no node",
    "collection": "site",
    "path": "$.data.groups[1].selectors",
    "line": 12,
}
_STATUS: dict[str, Any] = {
    "kind": "Status",
    "apiVersion": "v1.0",
    "metadata": {},
    "status": "Success",
    "message": "Validations succeeded",
    "reason": "Validation",
    "details": {"errorCount": 0, "messageList": []},
    "code": "200 OK",
}
CREATED: dict[str, Any] = {
    **_STATUS,
    "code": "201 Created",
    "site": "default",
    "buffer": {"version": 7, "base_revision": 2, "collections": ["site"], "discarded": []},
}
COMMITTED: dict[str, Any] = {
    **_STATUS,
    "details": {"errorCount": 0, "messageList": [_WARNING]},
    "retry": False,
    "site": "default",
    "revision": 3,
    "digest": "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
    "forced": False,
    "rollback_of": None,
    "deployable": True,
    "intermediate_commits": [2],
}
STATUSES = [
    {
        "collection_name": "site",
        "base_version": "committed",
        "base_revision": 2,
        "new_version": "buffer",
        "new_revision": 3,
        "base_status": "present",
        "new_status": "modified",
    }
]
REVISION: dict[str, Any] = {
    "site": "default",
    "revision": 3,
    "digest": COMMITTED["digest"],
    "created": "2026-03-01T12:00:00+00:00",
    "user": "admin",
    "base_revision": 2,
    "rollback_of": None,
    "forced": False,
    "problems": [],
    "collections": [{"name": "site", "digest": COMMITTED["digest"]}],
    "versions": ["committed"],
}
DIFFERENCES: dict[str, Any] = {
    "site": "default",
    "from": {"version": "committed", "revision": 2},
    "to": {"version": "buffer", "revision": 3},
    "rendered": False,
    "collections": [{"name": "site", "change": "modified"}],
    "documents": [
        {
            "collection": "site",
            "schema": "shipyard/DeploymentStrategy/v1",
            "name": "deployment-strategy",
            "layer": "site",
            "change": "modified",
            "fields": [{"path": "$.data.groups[1].critical", "change": "modified", "from": False, "to": True}],
        }
    ],
}


def yaml_shown(media_type: str) -> dict[int | str, dict[str, Any]]:
    """Return a route's ``responses``, when it answers documents: a schema would be that of a single one."""
    return {200: {"description": "Documents, separated by `---`.", "content": {media_type: {"example": YAML}}}}
