"""After each act something has the focus: never the body, from where a reader begins again at the page's top.

`:focus` never matches the body, so one match is enough; which one it is, is said where it matters.
"""
import re

from playwright.sync_api import expect
from test_looks import AXE, RULES, RUN


def check_by_axe(page):
    page.evaluate(AXE)
    # The rows that stand for those to come may be scrolled, and hold nothing yet.
    wrong = [one for one in page.evaluate(RUN, RULES) if not one.startswith("scrollable-region")]
    assert not wrong, wrong


def test_bars_that_are_not_there_yet_are_no_slider(console):
    support = console.as_operator("support")
    page, held = support.page, []
    try:
        page.route(re.compile(r"/v1/.*decisions\?"), lambda route: held.append(route))
        page.goto(f"{support.base}/console/t/demo/decisions")
        expect(page.locator(".spread")).to_be_visible()
        expect(page.locator("tbody .sk").first).to_be_visible()
        expect(page.get_by_role("slider")).to_have_count(0)
        check_by_axe(page)
        held[0].continue_()
        slider = page.get_by_role("slider", name="Rows by time")
        expect(slider).to_have_attribute("aria-valuenow", "0")
        expect(slider).to_have_attribute("aria-valuemax", re.compile(r"^\d+$"))
        check_by_axe(page)
        # What may not be read has none either.
        support.expects_refusals = True
        support.go("/console/audit")
        check_by_axe(page)
        support.check_silence()
    finally:
        support.close()
