"""What `slipway demo` is asked to do, and its site in the store: watched while its simulator is there, stopped then.

A demo that is killed can say nothing more. So it says from the beginning that the site is stopped in a while, and puts
that off again and again for as long as it lives.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from design_rendering.kinds.nodes import nodes_from_documents
from design_rendering.kinds.provisioner_kinds import provisioner_of, provisioner_problems
from design_rendering.policies import NO_POLICIES
from design_rendering.reading.documents import Document, find_documents, load_documents
from design_rendering.slipway_kinds import SITE_SCHEMA
from design_rendering.validation import validate_files
from provisioner_client.ironic_server.program import IRONIC_SCRIPTS
from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.maas.machines.course import MAAS_SCRIPTS
from provisioner_client.simulator.scripts import DRYDOCK_SCRIPTS, Script, parse_fail_option
from slipway_cli import SlipwayCliError
from slipway_cli.options import matching
from slipway_cli.output import Refused, printable
from strategy_lib.did_you_mean import suggestion
from strategy_lib.errors import Problem, StrategyLibError

if TYPE_CHECKING:
    from site_store import SiteStore
    from slipway_cli.embedded.settings import EmbeddedSettings


REGION = "drydock/Region/v1"
EXAMPLES = {"drydock": "example_site.yaml", "maas": "example_maas_site.yaml", "ironic": "example_ironic_site.yaml"}
"""The example site for each provisioner."""
SCRIPTS = {"drydock": DRYDOCK_SCRIPTS, "maas": MAAS_SCRIPTS, "ironic": IRONIC_SCRIPTS}
"""What can become of a machine of each provisioner."""
MOST_CHARACTERS = 64
"""Of the name of a site."""
FORGIVEN_FAILURE = "deploy:r1-compute-07"
"""The default failure in the example site; its group succeeds all the same."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the demo is asked to do.

    Attributes
    ----------
    site : name of the site.
    text : its documents.
    fail : `PHASE:NODE[:KIND]`, as the provisioner takes them.
    speed : simulated seconds per second.
    force : deploy also nodes that are already as wanted.
    warnings : what deserves a second look in the documents.
    provisioner : which one it is.
    """

    site: str
    text: str
    fail: tuple[str, ...]
    speed: float
    force: bool
    warnings: tuple[Problem, ...]
    provisioner: str = "drydock"


def read_order(
    site_file: Path | None, fail: tuple[str, ...], speed: float, force: bool, provisioner: str | None = None
) -> Order:
    """Read the site design (None: the example) and check the order against it.

    Without a provisioner, the documents say which one it is.

    Raises `click.UsageError`: the file cannot be read, or no node of the site matches a `fail`; all such are named.
    Raises `Refused`: the documents have errors; all of them are named, and all warnings.
    """
    if site_file is None:
        with example_site(provisioner or "drydock") as example:
            text, default, source = example.read_text(encoding="utf-8"), "example", "<example>"
        fail = fail or (FORGIVEN_FAILURE,)
    else:
        try:
            text, default, source = site_file.read_text(encoding="utf-8"), site_file.stem, str(site_file)
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"cannot read {site_file}: {error}") from error
    try:
        documents = load_documents(text, source)
        site = site_name(documents, default)
    except StrategyLibError as error:
        raise Refused(error.problems) from error
    found = validate_files(documents, NO_POLICIES)
    problems = list(found.problems)
    if provisioner is not None and not any(problem.level == "error" for problem in problems):
        problems += provisioner_problems(found.documents, provisioner)
    if any(problem.level == "error" for problem in problems):
        raise Refused(problems)
    kind = provisioner or provisioner_of(found.documents) or "drydock"
    _check_nodes(fail, {node.name for node in nodes_from_documents(found.documents)}, kind)
    return Order(site, text, fail, speed, force, tuple(problems), kind)


def example_site(provisioner: str) -> contextlib.AbstractContextManager[Path]:
    """Return the file of the example site for a provisioner; it is there for as long as the context is."""
    return as_file(files("slipway_cli") / "data" / EXAMPLES[provisioner])


def site_name(documents: Sequence[Document], default: str) -> str:
    """Return the name of the Region or Site document, or `default`; with `_` for what cannot stand in a site's name.

    Raises `DocumentError`: two regions have the same name.
    """
    named = [*find_documents(documents, REGION), *find_documents(documents, SITE_SCHEMA), default]
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", named[0])
    return name.lstrip("_.-")[:MOST_CHARACTERS] or "site"


def read_fail(text: str, provisioner: str = "drydock") -> Script:
    """Read `PHASE:NODE[:KIND]` as this provisioner will.

    Raises `click.BadParameter`: it has another form, or there is no such phase or behaviour.
    """
    try:
        return parse_fail_option(text, SCRIPTS[provisioner])
    except BadAdminRequest as error:
        raise click.BadParameter(f"{text}: {error}; write for example deploy:n1 or prepare:n1:stuck") from error


def _check_nodes(fail: Sequence[str], names: Collection[str], provisioner: str) -> None:
    """Refuse names and patterns that no node of the site has: they would silently do nothing."""
    mistakes = []
    for text in fail:
        pattern = read_fail(text, provisioner).node
        if not matching(pattern, names):
            mistakes.append(f"--fail {text}: no node of the site is '{pattern}'.{suggestion(pattern, names)}")
    if mistakes:
        raise click.UsageError("\n  ".join(printable(mistake) for mistake in mistakes))


STOPPED: Final = "demo: simulator stopped"
"""Why nobody watches the site."""
GIVEN_UP_AFTER: Final = 30.0
"""Seconds after which the site of a demo that was killed is stopped."""
_EVERY: Final = 5.0


@contextlib.contextmanager
def demo_store(settings: EmbeddedSettings) -> Iterator[SiteStore]:
    """Open the store of the Airflow that runs in a home. Raises `SlipwayCliError`: it cannot be opened, or used."""
    from site_store import SiteStore, StoreError
    from site_store.sql.address import URL_FILE

    try:
        url = settings.database_url or (settings.home / URL_FILE).read_text(encoding="utf-8").strip()
        with SiteStore.open(url) as store:
            yield store
    except (StoreError, OSError) as error:
        raise SlipwayCliError(f"Slipway's store in {settings.home}: {error}") from error


@contextlib.contextmanager
def watched(
    store: SiteStore, site: str, every: float = _EVERY, given_up_after: float = GIVEN_UP_AFTER
) -> Iterator[None]:
    """Have a site watched within the context, and stopped after it, also where this process does not get that far.

    Raises `StoreError`: it could not be said at the beginning.
    """
    from site_engine.process import repeated
    from site_store import StoreError

    put_off = partial(store.site_stops.put, site, STOPPED, given_up_after)
    put_off()
    try:
        with repeated(put_off, every, "demo-site"):
            yield
    finally:
        # If the store does not answer any more, the time runs out.
        with contextlib.suppress(StoreError):
            store.site_stops.put(site, STOPPED)


def remove_site(store: SiteStore, site: str) -> bool:
    """Take a demo's site away; False where there is none. Raises `SlipwayCliError`: it is no demo's, or in use."""
    from site_store.designs.site_stops import SiteInUse

    if not store.sites.exists(site):
        return False
    try:
        store.site_stops.remove_site(site)
    except SiteInUse as error:
        hint = f"A demo that was killed is given up after {GIVEN_UP_AFTER:.0f} s"
        raise SlipwayCliError(f"{error}. {hint}") from error
    return True
