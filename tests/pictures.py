"""The pictures of the pages in docs/images, taken anew from a Slipway that runs.

    .venv/bin/python -m tests.pictures --user admin --site SITE --action ID --node NODE [PICTURE...]

The password is SLIPWAY_ADMIN_PASSWORD. The site should have what the picture's sentence in docs/pages.md says of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import click
import httpx
from playwright.sync_api import sync_playwright

from tests.e2e.browser import chromium

IMAGES = Path(__file__).parents[1] / "docs" / "images"
UI = "/slipway/ui"
FRAMED = "/plugin/slipway/slipway/ui"
"""Slipway's pages inside Airflow's own."""


@dataclass(frozen=True)
class Picture:
    """A page, with `{site}`, `{action}`, `{node}` and `{group}` in its path, on a screen of this size."""

    path: str
    height: int
    width: int = 1280
    dark: bool = False


PICTURES = {
    "page-action": Picture(UI + "/actions/{action}", 1500),
    "page-action-narrow": Picture(UI + "/actions/{action}", 1400, width=390, dark=True),
    "page-hundred-groups": Picture(UI + "/actions/{action}", 1500),
    "page-site": Picture(FRAMED + "/sites/{site}", 800, dark=True),
    "page-node": Picture(UI + "/sites/{site}/nodes/{node}", 1140),
    "page-nodes": Picture(UI + "/sites/{site}/states", 1000),
    "page-ready": Picture(UI + "/actions/{action}/group?name={group}", 800),
    "page-plan": Picture(UI + "/sites/{site}/plan", 1160),
}


@click.command()
@click.option("--url", default="http://127.0.0.1:8080")
@click.option("--user", default="admin")
@click.option("--site", default="default")
@click.option("--action", default="")
@click.option("--node", default="")
@click.option("--group", default="")
@click.argument("names", nargs=-1, type=click.Choice(sorted(PICTURES)))
def take(url: str, user: str, names: tuple[str, ...], **about: str) -> None:
    """Take these pictures, and write them over those in docs/images."""
    login = {"username": user, "password": os.environ["SLIPWAY_ADMIN_PASSWORD"]}
    token = httpx.post(f"{url}/auth/token", json=login).raise_for_status().json()["access_token"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name in names:
            picture = PICTURES[name]
            context = browser.new_context(
                viewport={"width": picture.width, "height": picture.height},
                color_scheme="dark" if picture.dark else "light",
            )
            context.add_cookies([{"name": "_token", "value": token, "url": url}])
            context.add_init_script(f"localStorage.setItem('theme', '{'dark' if picture.dark else 'light'}')")
            page = context.new_page()
            page.goto(url + picture.path.format(**about))
            framed = page.frame_locator("iframe") if picture.path.startswith(FRAMED) else page
            framed.locator("main").wait_for()
            if picture.path != PICTURES["page-plan"].path:
                # The page has renewed itself once, and says that it is live.
                framed.get_by_text("live", exact=True).wait_for()
            page.screenshot(path=IMAGES / f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    take()
