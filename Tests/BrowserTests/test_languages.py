"""Other writing directions, other languages, paper, and another browser engine."""
import pathlib
import re

from playwright.sync_api import expect

PATHS = ["/console/", "/console/tenants", "/console/t/demo/users", "/console/t/demo/keys", "/console/t/demo/policy", "/console/decisions", "/console/audit"]


def keep(console, **ui):
    text = ",".join(f'"{name}":"{value}"' for name, value in ui.items())
    console.context.add_init_script(f"localStorage.setItem('ui', '{{{text}}}')")


def test_from_right_to_left_nothing_overflows_and_the_navigation_is_on_the_right(console):
    keep(console, dir="rtl")
    page = console.page
    for path in PATHS:
        console.go(path)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
        page.set_viewport_size({"width": 1280, "height": 800})
    assert page.locator(".nav").bounding_box()["x"] > 900


def test_each_word_of_the_frame_and_the_lists_comes_from_the_catalogue(console):
    keep(console, lang="pseudo")
    page = console.page
    for path in PATHS:
        console.go(path)
        for text in page.locator(".nav a, .nav .group, main h1, main h2, thead th, main .lead, main .tabs a").all_inner_texts():
            spoken = text.strip()
            assert not spoken or "⟦" in spoken or spoken in ("Demo",), (path, spoken)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_the_audit_log_prints_without_the_frame(console):
    page = console.go("/console/audit")
    page.emulate_media(media="print")
    expect(page.locator(".nav")).to_be_hidden()
    expect(page.locator(".top")).to_be_hidden()
    expect(page.locator("main .bar")).to_be_hidden()
    expect(page.locator("tbody tr").first).to_be_visible()


def test_the_compact_rows_are_lower(console):
    page = console.go("/console/t/demo/users")
    before = page.locator("tbody tr").first.bounding_box()["height"]
    keep(console, density="compact")
    page.reload()
    expect(page.locator("tbody tr").first).to_be_visible()
    assert page.locator("tbody tr").first.bounding_box()["height"] < before


def test_there_are_no_physical_sides_in_the_styles(console):
    for path in (pathlib.Path(__file__).parents[2] / "Public/styles").glob("*.css"):
        found = re.findall(r"(?:margin|padding|border)-(?:left|right|top|bottom)|[{; ](?:left|right|top|bottom):", path.read_text())
        assert not found, (path.name, found)
