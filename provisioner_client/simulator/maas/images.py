"""The images that MAAS has, and which one a deployment asks for."""

from __future__ import annotations

from typing import Any

from provisioner_client.simulator.maas.http.answers import BadParameters, Form, first

DEFAULT = ("ubuntu", "jammy")
IMAGES: tuple[tuple[str, str], ...] = (
    DEFAULT,
    ("ubuntu", "noble"),
    ("ubuntu", "focal"),
    ("custom", "site-image"),
    ("custom", "compute-next"),
)
_KERNELS = ("ga-22.04", "ga-24.04", "ga-20.04", "hwe-22.04", "hwe-24.04", "hwe-20.04")


def chosen_image(form: Form) -> tuple[str, str]:
    """Return operating system and release of a deploy request, with or without the system's name.

    Raises `BadParameters` for one that MAAS does not have, and for what newer versions of MAAS refuse.
    """
    for name in ("install_kvm", "register_vmhost", "install_rackd"):
        if first(form, name):
            raise BadParameters({name: ["This option is not supported any more."]})
    kernel = first(form, "hwe_kernel")
    if kernel and kernel not in _KERNELS:
        raise BadParameters({"hwe_kernel": [f"{kernel} is not available."]})
    wanted = first(form, "distro_series")
    if not wanted:
        return DEFAULT
    for osystem, series in IMAGES:
        if wanted in (series, f"{osystem}/{series}"):
            return osystem, series
    said = f"'{wanted}' is not a valid distro_series. It should be one of: {', '.join(f'{o}/{s}' for o, s in IMAGES)}."
    raise BadParameters({"distro_series": [said]})


def boot_resources() -> list[dict[str, Any]]:
    """Return `boot-resources/`."""
    return [
        {
            "id": number,
            "type": "Uploaded" if osystem == "custom" else "Synced",
            # An own image is uploaded, and listed, without the name of a system.
            "name": series if osystem == "custom" else f"{osystem}/{series}",
            "architecture": "amd64/ga-22.04" if osystem != "custom" else "amd64/generic",
            "resource_uri": f"/MAAS/api/2.0/boot-resources/{number}/",
            "last_deployed": None,
            "subarches": "generic",
            "title": f"{osystem} {series}",
        }
        for number, (osystem, series) in enumerate(IMAGES, start=1)
    ]
