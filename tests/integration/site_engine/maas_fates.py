"""What may become of a machine on MAAS, and what is said of it: one fate a machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from provisioner_client.simulator.maas.machines.lifecycle import BMC_TROUBLE
from provisioner_client.simulator.maas.machines.script_sets import SCRIPTS

ALICE: Final = "a:a:a"
COMMISSIONING: Final = "50-maas-01-commissioning"
TESTS: Final = "smartctl-validate"
INSTALLATION: Final = "/tmp/install.log"
UNKNOWN: Final = "a status that this version of Slipway does not know, and waits for"
Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Fate:
    """What becomes of a machine, and what is said of it; `{}` stands for its name.

    Parameters
    ----------
    said : its error; None: there is none.
    scripts : those that have failed, in the further lines of the error's whole text.
    changed : what of it is changed behind everybody's back, before anything is begun.
    script : phase, behaviour, and further fields.
    asked : operations before anything is begun, each with its form and the status that is waited for.
    meanwhile : while it is deployed, an operation of the administrator alice, with its form.
    fault : an operation that is answered by an error, with the error's status and further fields.
    node : the data of its document.
    """

    name: str
    said: str | None
    scripts: str = ""
    code: str = "provisioner"
    changed: Fields = field(default_factory=dict)
    script: tuple[str, str, Fields] | None = None
    asked: Sequence[tuple[str, Fields, str]] = ()
    meanwhile: tuple[str, Fields] | None = None
    fault: tuple[str, int, Fields] | None = None
    node: Fields = field(default_factory=dict)

    @property
    def expected(self) -> str:
        """The whole text of its error."""
        lines = [(self.said or "").format(*[self.name] * 3)]
        if self.scripts:
            lines = [lines[0], self.scripts]
        return "\n".join(lines)


_LEFT: Final = (
    "it cannot be prepared so, and no deployment of ours left it so: it may be somebody else's. "
    "`slipway create action redeploy_server --param target_nodes={} --site alpha` releases it and deploys it"
)


def unfit(status: str, hint: str = "", *, listed: bool = False, **changed: Any) -> Fate:
    """Return the fate of a machine that has a status of which nothing can be made."""
    name = "was-" + re.sub(r"\W+", "-", status.lower())
    given = {"status": status.partition(",")[0], **changed}
    if listed:
        return Fate(name, f"the node list says {status}: {_LEFT}", code="refused", changed=given)
    said = f"{{}} is {status} in MAAS and cannot be prepared" + (f": {hint}" if hint else "")
    return Fate(name, said, changed=given)


_STUCK: Final[tuple[str, str, Fields]] = ("deploy", "stuck", {})
_FIXED: Final = "mark it fixed in MAAS"
_TESTED: Final = "MAAS commissions no such machine: look at its tests there, or override them"
_RESCUE: Final = "let it leave rescue mode in MAAS"
_TO_TESTS: Final[Sequence[tuple[str, Fields, str]]] = (("commission", {}, "Failed testing"),)
_FAILS_ONCE: Final[tuple[str, str, Fields]] = ("prepare", "fail", {"stage": "testing", "attempt": 1})

PREPARED = [
    Fate(
        "commissioning-fails",
        f"Failed commissioning: script {COMMISSIONING}: Failed (exit status 1)",
        script=("prepare", "fail", {"message": "the BMC has no user"}),
    ),
    Fate(
        "commissioning-is-silent",
        "Failed commissioning: Node operation 'Commissioning' timed out after 30 minutes.",
        f"script {COMMISSIONING}: Timed out",
        script=("prepare", "silent", {}),
    ),
    Fate(
        "tests-fail",
        f"Failed testing: script {TESTS}: Failed (exit status 1)",
        script=("prepare", "fail", {"stage": "testing"}),
    ),
    Fate(
        "tests-are-silent",
        "Failed testing: Node operation 'Testing' timed out after 30 minutes.",
        f"script {TESTS}: Timed out",
        script=("prepare", "silent", {"stage": "testing"}),
    ),
    Fate(
        "tests-failed-before",
        f"{{}} is Failed testing in MAAS and cannot be prepared: {_TESTED}; "
        f"MAAS says: script {TESTS}: Failed (exit status 1)",
        script=_FAILS_ONCE,
        asked=_TO_TESTS,
    ),
    Fate(
        "tests-failed-and-were-overridden",
        None,
        script=_FAILS_ONCE,
        asked=(*_TO_TESTS, ("override_failed_testing", {}, "Ready")),
    ),
    Fate(
        "has-no-power",
        "Failed to query node's BMC: Aborting COMMISSIONING and reverting to NEW. "
        "Unable to power control the node. Please check power credentials.",
        "; ".join(f"script {one}: Aborted" for kind in ("commissioning", "testing") for one in SCRIPTS[kind]),
        script=("prepare", "power", {}),
    ),
    Fate(
        "was-marked-broken",
        f"{{}} is Broken in MAAS and cannot be prepared: {_FIXED}; MAAS says: User marking node broken by "
        "slipway: the fan is dead",
        asked=(
            ("commission", {}, "Ready"),
            ("allocate", {}, "Allocated"),
            ("mark_broken", {"comment": "the fan is dead"}, "Broken"),
        ),
    ),
    unfit("Broken", _FIXED),
    unfit("Failed testing", _TESTED),
    unfit("Missing"),
    unfit("Retired"),
    unfit("Reserved"),
    unfit("Releasing failed", listed=True),
    unfit("Failed disk erasing", listed=True),
    Fate("was-failed-deployment", None, changed={"status": "Failed deployment"}),
    unfit("Allocated", listed=True, owner="slipway"),
    unfit("Rescue mode", _RESCUE),
    unfit("Failed to enter rescue mode", _RESCUE),
    unfit("Failed to exit rescue mode", _RESCUE),
    unfit("Deployed, half released", listed=True),
    Fate(
        "is-allocated-to-alice",
        "the node list says Allocated, owned by alice: it is left alone until alice releases it",
        code="refused",
        changed={"status": "Allocated", "owner": "alice"},
    ),
    Fate(
        "has-failed-to-alice",
        "the node list says Failed deployment, owned by alice: it is left alone until alice releases it",
        code="refused",
        changed={"status": "Failed deployment", "owner": "alice"},
    ),
    Fate(
        "is-of-alice",
        "the node list says Broken, owned by alice: it is left alone until alice releases it",
        code="refused",
        changed={"status": "Broken", "owner": "alice"},
    ),
    Fate("is-elsewhere", "MAAS has no machine {} in pool default", changed={"pool": "others"}),
    Fate(
        "is-in-conflict",
        "MAAS refuses to commission {}: Injected fault",
        fault=("commission", 409, {"shape": "c"}),
    ),
    Fate("is-in-conflict-for-once", None, fault=("commission", 409, {"shape": "c", "retry_after": "0"})),
]
DEPLOYED = [
    Fate(
        "deployment-fails",
        "Failed deployment: Installation failed (refer to the installation log for more information).",
        f"script {INSTALLATION}: Failed (exit status 1)",
        script=("deploy", "fail", {}),
    ),
    Fate(
        "never-reports",
        "Failed deployment: Node operation 'Deploying' timed out after 60 minutes.",
        f"script {INSTALLATION}: Timed out",
        script=("deploy", "silent", {}),
    ),
    Fate(
        "loses-its-power",
        f"Failed deployment: {BMC_TROUBLE}",
        script=("deploy", "power", {}),
    ),
    Fate(
        "has-no-network",
        "MAAS refuses to deploy {}: network: Node must be configured to use a network; "
        "{} was released again, and nothing was deployed",
        script=("deploy", "no_network", {}),
    ),
    Fate(
        "gets-no-address",
        "MAAS did not deploy {}: No more IPs available in subnet: 10.0.0.0/24.",
        script=("deploy", "no_addresses", {}),
    ),
    Fate(
        "has-a-wrong-image",
        "MAAS refuses to deploy {}: distro_series: 'ubuntu/warty' is not a valid distro_series. It should "
        "be one of: ubuntu/jammy, ubuntu/noble, ubuntu/focal, custom/site-image, custom/compute-next; "
        "{} was released again, and nothing was deployed",
        node={"image": "ubuntu/warty"},
    ),
    Fate(
        "is-proxied",
        "MAAS did not deploy {}: an HTML page: 502 Bad Gateway",
        fault=("deploy", 502, {"kind": "html", "count": 2}),
    ),
    Fate(
        "is-aborted",
        "it became Allocated: User aborting deployment by alice: too slow",
        f"script {INSTALLATION}: Aborted",
        script=_STUCK,
        meanwhile=("abort", {"comment": "too slow"}),
    ),
    Fate(
        "is-released",
        "it became Releasing: User releasing node by alice",
        script=_STUCK,
        meanwhile=("release", {}),
    ),
    Fate(
        "is-moved",
        "{} is no longer in the site's part of MAAS",
        script=_STUCK,
        meanwhile=("", {"pool": "others"}),
    ),
]
WAITING = [
    Fate(
        "is-strange",
        f"no result in time: {{}} is Sublimating in MAAS, {UNKNOWN}",
        code="timeout",
        changed={"unknown_status": "Sublimating"},
    ),
    Fate(
        "enters-rescue-mode",
        "no result in time: {} is Entering rescue mode in MAAS, which is waited for",
        code="timeout",
        changed={"status": "Entering rescue mode"},
    ),
]
RELEASED = [
    Fate("is-locked", "{} is Deployed and locked in MAAS: unlock it there"),
    Fate(
        "release-fails",
        "Releasing failed: Failed to power off node",
        script=("destroy", "fail", {}),
    ),
    Fate(
        "erasing-fails",
        "Failed disk erasing: Failed to erase disks.",
        script=("destroy", "fail", {}),
        node={"erase": "full"},
    ),
    Fate(
        "is-not-erased",
        "MAAS did not release {}: Invalid transition: Disk erasing -> Deployed; the machine is Failed disk erasing",
        script=("destroy", "power", {}),
        node={"erase": "quick"},
    ),
    Fate(
        "is-half-released",
        f"MAAS did not release {{}}: {BMC_TROUBLE[:-1]}; the machine is Deployed",
        script=("destroy", "power", {}),
    ),
]
FATES = [*PREPARED, *DEPLOYED, *WAITING, *RELEASED]
