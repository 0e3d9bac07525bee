"""A real browser for pages: the operating system's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """Return the browser's path; skips the test where there is none, unless SLIPWAY_CHROMIUM promises one."""
    promised = os.environ.get("SLIPWAY_CHROMIUM")
    if promised is not None:
        assert shutil.which(promised), f"SLIPWAY_CHROMIUM={promised!r} is no program"
        return promised
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no Chromium on this machine")
    return found


@contextmanager
def logged_in(url: str, user: str, password: str, path: str) -> Iterator[Page]:
    """Open a page of Airflow as a person does who is not logged in yet: the login form comes first."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 1400})
            page.goto(url + path)
            page.fill("input[name=username]", user)
            page.fill("input[name=password]", password)
            page.keyboard.press("Enter")
            page.wait_for_url(f"**{path}*")
            yield page
        finally:
            browser.close()


def press_test(page: Page, connection: str) -> str:
    """Press "Test Connection" beside a connection in Airflow's list of them, and return what the page says then."""
    row = page.get_by_role("row").filter(has=page.get_by_text(connection, exact=True))
    row.get_by_role("button", name="Test Connection").click()
    told = page.get_by_text(re.compile("^Test Connection (Successful|Failed)$")).first
    told.wait_for()
    return told.inner_text()


def trigger(page: Page, fields: dict[str, str]) -> str:
    """Fill the trigger form of the DAG whose page is open, and return the id of the run that it starts."""
    page.get_by_role("button", name="Trigger").first.click()
    dialog = page.get_by_role("dialog")
    for name, value in fields.items():
        dialog.locator(f"[name=element_{name}]").fill(value)
    dialog.get_by_role("button", name="Trigger").last.click()
    page.wait_for_url("**/runs/*")
    return page.url.partition("/runs/")[2].partition("?")[0].partition("/")[0]
