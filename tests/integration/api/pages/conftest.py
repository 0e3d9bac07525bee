"""A browser of each role, logged in, at the pages that the API server of the folder above serves."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, Page, Response, expect, sync_playwright

from site_store import SiteStore
from tests.e2e.browser import chromium
from tests.support.driving import Begin, begin_with
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner

UI = "/slipway/ui"
_HANGS = 300_000
"""Milliseconds after which what a test waits for hangs: a busy machine is slow, and no test times anything."""
expect.set_options(timeout=_HANGS)


@dataclass
class Watched:
    """A page, and all that its browser complained about: errors of scripts, refusals of the CSP."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, context: BrowserContext) -> Watched:
        """Open an empty page."""
        watched = cls(context.new_page())
        watched.page.set_default_timeout(_HANGS)
        watched.page.on("pageerror", lambda error: watched.complaints.append(f"error: {error}"))
        watched.page.on(
            "console",
            lambda said: watched.complaints.append(said.text) if "Content Security Policy" in said.text else None,
        )
        return watched

    def frame(self) -> Frame:
        """Return the frame of Slipway in Airflow's page, once it is there."""
        element = self.page.wait_for_selector("iframe")
        assert element is not None
        found = element.content_frame()
        assert found is not None
        found.wait_for_selector("main")
        return found


Open = Callable[..., Watched]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the operating system's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, origin: str, tokens: dict[str, str]) -> Iterator[Open]:
    """Open a path of the server as a user of this role: `open_page("/slipway/ui/", role="viewer", width=390)`."""
    contexts: list[BrowserContext] = []

    def open_path(path: str, role: str = "admin", width: int = 1280, height: int = 800, dark: bool = False) -> Watched:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        context.add_cookies([{"name": "_token", "value": tokens[role], "url": origin}])
        if dark:
            context.add_init_script("localStorage.setItem('theme', 'dark')")
        watched = Watched.of(context)
        answer: Response | None = watched.page.goto(origin + path)
        assert answer is not None
        return watched

    yield open_path
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def tls() -> ssl.SSLContext:
    """What every client is made with: to read the system's certificates takes longer than a test."""
    return ssl.create_default_context()


@pytest.fixture
def pages(origin: str, tokens: dict[str, str], tls: ssl.SSLContext) -> Iterator[dict[str, httpx.Client]]:
    """Return a client for each role that asks as a browser does: by Airflow's cookie, from Airflow's own pages."""
    made = {
        role: httpx.Client(
            base_url=f"{origin}{UI}",
            cookies={"_token": token},
            headers={"Sec-Fetch-Site": "same-origin", "Origin": origin},
            timeout=60,
            verify=tls,
        )
        for role, token in tokens.items()
    }
    made["anonymous"] = httpx.Client(base_url=f"{origin}{UI}", timeout=60, verify=tls)
    yield made
    for client in made.values():
        client.close()


@pytest.fixture
def clock() -> FakeClock:
    """Return the clock of the driven actions."""
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeProvisioner:
    """Return the provisioner of the driven actions."""
    return FakeProvisioner(clock)


@pytest.fixture
def begin(store: SiteStore, tmp_path: Path, fake: FakeProvisioner, clock: FakeClock) -> Begin:
    """Begin an action on a design, whose groups the test drives itself: `begin(text).group("one")`."""
    return begin_with(store, tmp_path, lambda _: fake, clock)
