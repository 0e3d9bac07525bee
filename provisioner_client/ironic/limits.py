"""What limits a site's part of an Ironic that may be shared by many: which of its nodes are the site's. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

ADVICE = "conductor_group, owner, lessee, resource_class, shard, or extra_key with extra_value"


@dataclass(frozen=True, slots=True)
class Limits:
    """Each field that is given is a condition, and all of them count; names as Ironic has them.

    `extra_key` and `extra_value` are a key of a node's `extra` and its value: Ironic cannot filter by them, so that its
    whole list is read, and sorted out here.

    Raises
    ------
    ValueError : none is given, or one of the last two alone: never all nodes of a shared Ironic by accident.
    """

    conductor_group: str = ""
    owner: str = ""
    lessee: str = ""
    resource_class: str = ""
    shard: str = ""
    extra_key: str = ""
    extra_value: str = ""

    def __post_init__(self) -> None:
        if bool(self.extra_key) != bool(self.extra_value):
            raise ValueError("extra_key and extra_value belong together: give both of them, or none")
        if not any(value for _, value in self._given()):
            raise ValueError(f"something must limit the site's part of Ironic: give {ADVICE}")

    def __str__(self) -> str:
        """Return them for a message: ``conductor group fra1 and owner alice``."""
        said = [f"{name.replace('_', ' ')} {value}" for name, value in self.filters.items()]
        return " and ".join([*said, *([f"extra.{self.extra_key} {self.extra_value}"] if self.extra_key else [])])

    @property
    def filters(self) -> dict[str, str]:
        """Those by which Ironic itself filters, as parameters of its list.

        It keeps conductor groups in lower case, and finds and takes them so alone.
        """
        its = {name: value for name, value in self._given() if value and not name.startswith("extra_")}
        return {name: value.lower() if name == "conductor_group" else value for name, value in its.items()}

    @property
    def new_node(self) -> dict[str, Any]:
        """What a new node needs to be one of the site's, as fields of Ironic."""
        return {**self.filters, "extra": {self.extra_key: self.extra_value} if self.extra_key else {}}

    def allow(self, data: Mapping[str, Any]) -> bool:
        """Whether a node, as Ironic gives it, is one of the site's."""
        extra = data.get("extra")
        if self.extra_key and (not isinstance(extra, dict) or str(extra.get(self.extra_key)) != self.extra_value):
            return False
        return all(str(data.get(name) or "") == value for name, value in self.filters.items())

    def _given(self) -> Iterator[tuple[str, str]]:
        for one in fields(self):
            yield one.name, getattr(self, one.name)
