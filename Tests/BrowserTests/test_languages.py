"""Other writing directions, other languages, and paper."""
import pathlib
import re

from places import all_pages, each_dialog, keep, outside
from playwright.sync_api import expect

PUBLIC = pathlib.Path(__file__).parents[2] / "Public"
PATHS = ["/console/", "/console/tenants", "/console/t/demo/users", "/console/t/demo/keys", "/console/t/demo/policy", "/console/decisions", "/console/audit"]


# A language that shows what came from the catalogue: in ⟦⟧, longer than the English, a value in it in ‹›.
PSEUDO = """const say = text => `⟦${text.replace(/[aeiou]/g, letter => letter + { a: "á", e: "é", i: "í", o: "ó", u: "ú" }[letter])
    .replaceAll("{}", "‹{}›")}⟧`
export default new Proxy({}, { get: (_, text) => (/\\p{L}|\\{\\}/u.test(text) && !/^\\w[^.]*\\|/.test(text) ? say(text) : undefined) })"""


def test_written_from_right_to_left_nothing_overflows_and_the_navigation_is_on_the_right(console):
    keep(console, dir="rtl")
    page = console.page
    for path in PATHS:
        console.go(path)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
        page.set_viewport_size({"width": 1280, "height": 800})
    assert page.locator(".nav").bounding_box()["x"] > 900


# What is shown and did not come through the catalogue; data, code, times and the product's name are none of its business.
PLAIN = """() => {
    const data = "[dir=auto], code, kbd, time, svg, script, style, noscript, option[data-plain], .code"
    const found = []
    const judge = (text, where) => {
        let rest = text.replaceAll("Gatehouse", "")
        for (let before; before !== rest;) [before, rest] = [rest, rest.replace(/⟦[^⟦⟧‹›]*⟧|‹[^⟦⟧‹›]*›/g, "")]
        if (/\\p{L}/u.test(rest)) found.push(where + ": " + text.trim().slice(0, 80))
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement
        if (!parent.closest(data)) judge(walker.currentNode.data, parent.tagName + "." + parent.className)
    }
    for (const name of ["aria-label", "title", "placeholder"])
        for (const node of document.querySelectorAll(`[${name}]`))
            if (!node.matches(data + ", [data-plain]")) judge(node.getAttribute(name), name)
    return found
}"""


def test_each_word_of_each_page_comes_from_the_catalogue(console):
    plain_words(console, "pseudo", PSEUDO)


def test_each_word_of_each_page_has_its_german(console):
    words = (PUBLIC / "lang/de.js").read_text().replace("export default", "const words =")
    plain_words(console, "de", words + WRAPPED)


# The German of the catalogue, marked as in the pseudo-language; what it lacks stays plain, but for what is no word.
WRAPPED = """
const wrap = text => `⟦${text.replace(/\\{\\d?\\}/g, "‹$&›")}⟧`
const forms = one => Object.fromEntries(Object.entries(one).map(([name, text]) => [name, wrap(text)]))
const same = /^(GET|POST|PUT|PATCH|DELETE|https:\\S+|immich|timetracker|thinkwork|deeprecall|relate|Chrome on Linux)$/
export default new Proxy(words, { get: (_, text) => {
    const said = words[text] ?? (same.test(text) ? text : undefined)
    return typeof said === "object" ? forms(said) : said && wrap(said)
} })"""


def plain_words(console, lang, catalogue):
    """Fails with each word of a page or dialog that did not come through the catalogue, and each page that overflows."""
    wrong = []
    paths = all_pages(console)
    keep(console, lang=lang)
    console.context.route(f"**/lang/{lang}.js", lambda route: route.fulfill(content_type="text/javascript; charset=utf-8", body=catalogue))
    for path in paths:
        console.go(path)
        wrong += [f"{path} {one}" for one in console.page.evaluate(PLAIN)]
        if console.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"{path} is wider than the window")
    each_dialog(console, lambda what: wrong.extend(f"{what} {one}" for one in console.page.evaluate(PLAIN)))
    for path in outside(console):
        console.page.goto("about:blank")
        console.go(path)
        wrong += [f"{path} {one}" for one in console.page.evaluate(PLAIN)]
    assert not wrong, "\n".join(wrong)


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
    for path in (PUBLIC / "styles").rglob("*.css"):
        found = re.findall(r"(?:margin|padding|border)-(?:left|right|top|bottom)|[{; ](?:left|right|top|bottom):", path.read_text())
        assert not found, (path.name, found)

