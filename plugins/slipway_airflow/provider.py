"""What Slipway tells Airflow about itself (provider entry point); data only, imported by every Airflow process."""

from __future__ import annotations

from typing import Any


def _field(label: str, schema: dict[str, Any], description: str | None = None) -> dict[str, Any]:
    field: dict[str, Any] = {"label": label, "schema": schema}
    if description:
        field["description"] = description
    return field


def _text(label: str, description: str | None = None, **schema: Any) -> dict[str, Any]:
    return _field(label, {"type": ["string", "null"], **schema}, description)


def _optional_seconds(label: str, default: float, description: str) -> dict[str, Any]:
    return _field(label, {"type": ["number", "null"], "default": default, "minimum": 0}, description)


def _engine_fields(provisioner: str) -> dict[str, Any]:
    """Return the fields that the engine reads of every connection, whatever its provisioner."""
    return {
        "poll_interval": _optional_seconds(
            "Longest poll interval (s)",
            30,
            "Polling starts fast and slows down to this, or to the design's interval if shorter.",
        ),
        "poll_in_worker": _optional_seconds(
            "Poll in the worker for (s)",
            60,
            "Shorter waits stay in the worker; longer ones are deferred to the triggerer. 0 always defers.",
        ),
        "queue_timeout": _optional_seconds(
            f"Longest wait in {provisioner}'s queue (s)",
            86400,
            "A provisioner task that has not been started after this time is given up.",
        ),
        "check_in_interval": _optional_seconds(
            "Alive after an answer for (s)",
            60,
            "Without an answer for so long, or for twice the poll interval, it counts as unresponsive.",
        ),
    }


def _tls_fields() -> dict[str, Any]:
    return {
        "verify_tls": _field("Verify TLS", {"type": ["boolean", "null"], "default": True}),
        "ca_bundle": _text("CA bundle (path)", "Certificates to trust instead of the system's."),
    }


def _token_fields() -> dict[str, Any]:
    return {
        "auth_token": _text("Static token", "Sent as X-Auth-Token.", format="password"),
        "auth_url": _text("Keystone URL", "For example https://keystone.example/v3."),
        "project_name": _text("Keystone project"),
        "user_domain_name": _text("Keystone user domain"),
        "project_domain_name": _text("Keystone project domain"),
    }


def _ironic() -> dict[str, Any]:
    limit = "Only nodes that have it belong to the site. One limit must be given; several count together."
    return {
        "connection-type": "ironic",
        "hook-class-name": "slipway_airflow.hook.IronicHook",
        "hook-name": "Ironic",
        "ui-field-behaviour": {
            "hidden-fields": ["schema"],
            "relabeling": {
                "host": "Ironic URL",
                "port": "Port (0: as the URL says)",
                "login": "User (http_basic or Keystone)",
                "password": "Password",
            },
            "placeholders": {"host": "http://ironic.example:6385", "port": "0"},
        },
        "conn-fields": {
            **_engine_fields("Ironic"),
            "connect_timeout": _optional_seconds("Connect timeout (s)", 5, "Per request."),
            "read_timeout": _optional_seconds(
                "Read timeout (s)",
                60,
                "Per request. For so long, too, a request is looked for whose answer was lost.",
            ),
            **_tls_fields(),
            **_token_fields(),
            "conductor_group": _text("Conductor group", limit),
            "owner": _text("Owner", limit),
            "lessee": _text("Lessee", limit),
            "resource_class": _text("Resource class", limit),
            "shard": _text("Shard", f"{limit} It needs version 1.82 of the API."),
            "extra_key": _text("Key of extra", f"{limit} Ironic's whole list is read for it."),
            "extra_value": _text("Value of that key"),
            "label_sources": _text(
                "Labels",
                "Words of nodes that are labels, as in class=resource_class,hall=extra.hall.",
            ),
            "rack_source": _text(
                "Racks are",
                "Which word of a node is its rack, where a node's design names none.",
                default="extra.rack",
            ),
            "parallel_nodes": _field(
                "Nodes at once",
                {"type": ["number", "null"], "default": 50, "minimum": 1},
                "So many of the site's nodes at most change their state at once.",
            ),
            "inspect": _field(
                "Inspect nodes",
                {"type": ["boolean", "null"], "default": False},
                "Before they are made available.",
            ),
            "default_image": _text("Default image", "For nodes whose design has none: an address or a UUID."),
            "default_checksum": _text("Its checksum", "As sha256: with its digits, or an address. Glance needs none."),
            "design_base_url": _text(
                "Slipway URL as the provisioner sees it", "Ironic does not fetch designs: leave it empty."
            ),
        },
    }


def _maas() -> dict[str, Any]:
    return {
        "connection-type": "maas",
        "hook-class-name": "slipway_airflow.hook.MaasHook",
        "hook-name": "MAAS",
        "ui-field-behaviour": {
            "hidden-fields": ["schema", "login"],
            "relabeling": {"host": "MAAS URL", "port": "Port (0: as the URL says)", "password": "API key"},
            "placeholders": {
                "host": "http://maas.example:5240/MAAS",
                "port": "0",
                "password": "consumer:token:secret, of an administrator",
            },
        },
        "conn-fields": {
            **_engine_fields("MAAS"),
            "connect_timeout": _optional_seconds("Connect timeout (s)", 5, "Per request."),
            "read_timeout": _optional_seconds(
                "Read timeout (s)",
                120,
                "Per request; MAAS may answer only after a machine's power has changed. For so long, too, a request "
                "is looked for whose answer was lost.",
            ),
            **_tls_fields(),
            "pool": _text("Resource pool", "Only its machines belong to the site. Give a pool, a tag or both."),
            "tag": _text("Tag", "Only machines with it belong to the site."),
            "label_template": _text(
                "Label template", "How a label is written as a tag, as in role__compute.", default="{key}__{value}"
            ),
            "label_sources": _text(
                "Labels that are no tags", "As in hall=zone,arch=architecture; zone, pool and architecture."
            ),
            "rack_source": _text(
                "Racks are",
                "What of MAAS's a rack is, where a node's design names none.",
                default="zone",
                enum=["zone", "pool", "tag"],
            ),
            "parallel_deploys": _field(
                "Deploys at once",
                {"type": ["number", "null"], "default": 8, "minimum": 1},
                "Of all sites that use this account together.",
            ),
            "recommission": _field(
                "Commission Ready machines again",
                {"type": ["boolean", "null"], "default": True},
                "Without it they are taken as they are.",
            ),
            "erase": _text(
                "Erase disks at release",
                "For nodes that do not say.",
                default="none",
                enum=["none", "quick", "secure", "full"],
            ),
            "default_image": _text(
                "Default image", "For nodes whose design names none, such as ubuntu/noble. Empty: MAAS's own."
            ),
            "design_base_url": _text(
                "Slipway URL as the provisioner sees it", "MAAS does not fetch designs: leave it empty."
            ),
        },
    }


def get_provider_info() -> dict[str, Any]:
    """Return the provider's description in the form that Airflow's provider manager reads.

    The connection form's fields are exactly what the engine and the backend read of a connection; a test
    holds the two together.
    """
    return {
        "package-name": "slipway",
        "name": "Slipway",
        "description": "Deploy sites of baremetal servers, group by group.",
        "connection-types": [
            {
                "connection-type": "drydock",
                "hook-class-name": "slipway_airflow.hook.DrydockHook",
                "hook-name": "Drydock",
                "ui-field-behaviour": {
                    "hidden-fields": ["schema"],
                    "relabeling": {
                        "host": "Drydock URL",
                        "port": "Port (0: as the URL says)",
                        "login": "Keystone user",
                        "password": "Keystone password",
                    },
                    "placeholders": {"host": "http://drydock.example:9000", "port": "0"},
                },
                "conn-fields": {
                    **_engine_fields("Drydock"),
                    "connect_timeout": _optional_seconds("Connect timeout (s)", 5, "Per request."),
                    "read_timeout": _optional_seconds(
                        "Read timeout (s)",
                        60,
                        "Per request. For so long, too, a task is looked for whose answer was lost.",
                    ),
                    **_tls_fields(),
                    **_token_fields(),
                    "design_base_url": _text(
                        "Slipway URL as the provisioner sees it",
                        "Drydock fetches the design from here. Empty: SLIPWAY_URL, else Airflow's own base URL.",
                    ),
                },
            },
            _maas(),
            _ironic(),
        ],
    }
