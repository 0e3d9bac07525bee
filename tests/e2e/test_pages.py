"""A person at the pages, in a real browser: from the login over a failed node to its retry, without a reload."""

from __future__ import annotations

import re

from playwright.sync_api import Frame, Page, expect

from tests.e2e.browser import logged_in
from tests.e2e.running import HANGS, OwnSite, RunningSlipway, wait_until
from tests.support.sites import group, node, site

SITE = "paged"
SAID = "no answer to PXE on port 7"
DESIGN = site(
    [node("n1"), node("n2"), node("n3")],
    [
        group("first", ["n1"], percent_successful_nodes=100),
        {
            **group("second", ["n2", "n3"], after=["first"], critical=False, percent_successful_nodes=100),
            "approval": "before",
            "approval_text": "Is <b>the second rack</b> cabled?",
        },
    ],
)
expect.set_options(timeout=HANGS * 1000)


def frame_of(page: Page) -> Frame:
    """Return the frame of Slipway in Airflow's page."""
    element = page.wait_for_selector("iframe", timeout=HANGS * 1000)
    assert element is not None
    frame = element.content_frame()
    assert frame is not None
    frame.wait_for_selector("main")
    return frame


def approve(frame: Frame) -> None:
    """Answer the group that asks, once Airflow's task waits for it."""
    frame.get_by_role("link", name="Answer").click()
    frame.get_by_label("Comment").fill("it is")
    frame.get_by_role("button", name="Approve").click()
    expect(frame.get_by_role("heading", name=f"deploy_site of {SITE}", exact=True)).to_be_visible()


def test_a_deployment_is_started_followed_and_mended_in_the_pages(slipway: RunningSlipway, own: OwnSite) -> None:
    simulator = own.simulator
    simulator.script("n1", "deploy", "stuck", attempt=1)
    simulator.script("n3", "deploy", "fail", attempt=1, message=SAID)
    slipway.slipway.commit(SITE, DESIGN)
    slipway.airflow.wait_for_dag("deploy_site")
    with logged_in(slipway.url, "admin", slipway.runtime.password("admin"), "/plugin/slipway") as page:
        page.set_default_timeout(HANGS * 1000)
        frame = frame_of(page)
        frame.get_by_role("link", name=SITE, exact=True).click()
        frame.get_by_role("link", name="Start deploy_site").click()
        frame.get_by_role("button", name="Show what it will do").click()
        expect(frame.get_by_text("deploys 3, labels 0")).to_be_visible()
        expect(frame.get_by_text(re.compile("deploys 3,"))).to_be_visible()
        frame.get_by_role("button", name="Start deploy_site").click()
        expect(frame.get_by_role("heading", name=f"deploy_site of {SITE}", exact=True)).to_be_visible()
        frame.evaluate("window.same = true")
        expect(frame.get_by_role("link", name="first: processing")).to_be_visible()
        expect(frame.get_by_role("link", name="second: pending")).to_be_visible()
        wait_until(lambda: ("deploy_nodes", ["n1"]) in simulator.submissions(), "the stuck node is submitted")
        simulator.release_stuck()
        expect(frame.get_by_role("link", name="first: success")).to_be_visible()
        expect(frame.get_by_text("Is <b>the second rack</b> cabled?").first).to_be_visible()
        assert frame.evaluate("window.same") is True, "nothing was loaded anew"
        approve(frame)
        frame.evaluate("window.same = true")
        expect(frame.get_by_role("link", name="second: error")).to_be_visible()
        failed = frame.locator("#failed-second")
        expect(failed.get_by_role("link", name="n3")).to_be_visible()
        assert frame.evaluate("window.same") is True, "nothing was loaded anew"

        failed.get_by_role("link", name="n3").click()
        expect(frame.get_by_role("heading", name="What happened to it")).to_be_visible()
        expect(frame.get_by_text(SAID).first).to_be_visible()
        expect(frame.get_by_role("heading", name="Errors, by operation")).to_be_visible()
        frame.get_by_role("link", name="deploy_site", exact=True).first.click()
        frame.locator("#failed-second").get_by_role("link", name="log in Airflow").click()
        page.wait_for_url(re.compile(r".*/dags/deploy_site/runs/.*/tasks/deploy_group/mapped/1.*"))
        expect(page.get_by_text(SAID).first).to_be_visible()
        page.go_back()

        frame = frame_of(page)
        retry = frame.get_by_role("link", name="Retry what failed")
        expect(retry).to_be_visible()
        retry.click()
        expect(frame.get_by_text("second: 1 node")).to_be_visible()
        frame.get_by_role("button", name="Retry").click()
        # A group that is tried again asks again.
        approve(frame)
        expect(frame.get_by_role("link", name="second: success")).to_be_visible()
        frame.get_by_role("heading", name=f"deploy_site of {SITE}", exact=True).wait_for()
