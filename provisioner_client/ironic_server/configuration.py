"""What Ironic is to be like: its configuration file, with the reasons of each value that is not its own default."""

from __future__ import annotations

from pathlib import Path

HOST = "slipway"
"""The conductor's name: the same at each start, so that it takes up its own machines."""
LOOPBACK = "127.0.0.1"

_TEXT = """\
[DEFAULT]
auth_strategy = http_basic
http_basic_auth_user_file = {folder}/users
host = {host}
my_ip = {loopback}
# API and conductor are one process, so nothing has to be sent between them.
rpc_transport = none
use_stderr = true
tempdir = {folder}
enabled_hardware_types = slipway,slipway-redfish,fake-hardware
enabled_bios_interfaces = fake,no-bios
enabled_boot_interfaces = fake
enabled_console_interfaces = fake,no-console
enabled_deploy_interfaces = slipway,fake
enabled_firmware_interfaces = fake,no-firmware
enabled_inspect_interfaces = slipway,fake,no-inspect
enabled_management_interfaces = fake,redfish
enabled_network_interfaces = noop
default_network_interface = noop
enabled_power_interfaces = slipway,redfish,fake
enabled_raid_interfaces = fake,no-raid
enabled_rescue_interfaces = fake,no-rescue
enabled_storage_interfaces = noop
enabled_vendor_interfaces = fake,no-vendor
# What it is configured with stands here, and each request would be a line: Slipway looks every second.
log_options = false
default_log_levels = ironic.api=WARNING,alembic=WARNING,sqlalchemy=WARNING,stevedore=WARNING,urllib3=WARNING

[api]
host_ip = {loopback}
port = {port}

[database]
connection = {database}
# Each conductor's worker has its own thread, and takes a connection for moments. PostgreSQL lets in 220 in all, and
# Airflow and Slipway need most of them: here are 30, and who finds none waits longer than Ironic's 30 s.
max_pool_size = 10
max_overflow = 20
pool_timeout = 120

[conductor]
# A prepared machine is a clean one; the limits are Ironic's own: 250 deployments and 50 cleanings at a time.
automated_clean = true
# Nothing is lost by a machine that is left in the middle: there is none.
graceful_shutdown_timeout = 2
# Who switches a machine off at its BMC is seen at Ironic's next look, once a minute, and not undone.
force_power_state_during_sync = false

[redfish]
# A BMC that does not answer is one that is not there: nobody waits half a minute for it.
connection_attempts = 2
connection_retry_interval = 1
connect_timeout = 10

[deploy]
# Who deletes an image or a machine here deletes nothing: there is no erasing.
erase_devices_priority = 0

[oslo_concurrency]
lock_path = {folder}/locks
"""


def configuration(folder: Path, port: int, database: str) -> str:
    """Return the text of `ironic.conf`.

    Parameters
    ----------
    folder : of this Ironic's own files.
    port : on loopback.
    database : SQLAlchemy's URL.
    """
    # oslo.config replaces `$name` within values.
    shown = {"folder": str(folder), "database": database}
    escaped = {name: value.replace("$", "$$") for name, value in shown.items()}
    return _TEXT.format(host=HOST, loopback=LOOPBACK, port=port, **escaped)
