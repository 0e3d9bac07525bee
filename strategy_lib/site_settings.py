"""How Slipway goes about a site: the document `slipway/SiteSettings/v1`. Every setting has a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strategy_lib.errors import Origin, StrategyLibError
from strategy_lib.schema_check import check_data

SITE_SETTINGS_SCHEMA = "slipway/SiteSettings/v1"


class SiteSettingsError(StrategyLibError):
    """The settings of the site are not valid. Mend those listed below."""


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """The settings of a site.

    Attributes
    ----------
    redeploy_percent, redeploy_nodes : an update that would redeploy more than this share of the site's deployed nodes,
        and more nodes than this, is refused without the override `many_redeploys`.
    follow_timeout : seconds for which the provisioner task of an unknown node is followed after nobody waits for it.
    """

    redeploy_percent: int = 20
    redeploy_nodes: int = 5
    follow_timeout: int = 86400

    def to_data(self) -> dict[str, Any]:
        """Return the `data` of a document that says the same."""
        return {section: {name: getattr(self, name) for name in names} for section, names in _SECTIONS.items()}


_SECTIONS = {"updates": ("redeploy_percent", "redeploy_nodes"), "unknown_nodes": ("follow_timeout",)}

DEFAULT_SETTINGS = SiteSettings()
"""Those of a site without a document of this kind."""


def parse_site_settings(data: object, document: Origin | None = None) -> SiteSettings:
    """Read the `data` of a document. Raises `SiteSettingsError` with everything that is wrong."""
    problems = check_data("site_settings", data, document)
    if problems:
        raise SiteSettingsError(problems)
    given: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    found = {name: value for section in _SECTIONS for name, value in given.get(section, {}).items()}
    # JSON Schema takes 20.0 for a whole number.
    return SiteSettings(**{name: int(value) for name, value in found.items()})
