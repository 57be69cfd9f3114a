"""Lists as files, by mouse and by keyboard; and where the focus is after a secret."""
import csv
import io
import json

from playwright.sync_api import expect

from test_keyboard import begin, press, store
from test_looks import look

# A page with filters, its list of the API with the same, and a column that tells the rows.
LISTS = [
    ("/console/tenants?status=active&sort=name", "/tenants?status=active&sort=name", "slug", "tenants-"),
    ("/console/audit?action=user.created", "/audit-events?action=user.created", "id", "audit-events-"),
    ("/console/decisions?outcome=refused&sort=created_at", "/provisioning/decisions?outcome=refused&sort=created_at", "id", "decisions-"),
    ("/console/t/demo/users?status=active&sort=-email", "/tenants/demo/users?status=active&sort=-email", "email", "users-demo-"),
    ("/console/t/demo/audit?sort=occurred_at", "/tenants/demo/audit-events?sort=occurred_at", "id", "audit-events-demo-"),
]


def export(page):
    return page.get_by_role("button", name="Export", exact=True)


def rows(download):
    return list(csv.DictReader(io.StringIO(open(download.path(), encoding="utf-8", newline="").read(), newline="")))


def listed(console, path, column):
    return [one[column] for one in console.api("GET", f"{path}&limit=200")["items"]]


def saved(page, act):
    with page.expect_download() as download:
        act()
    return download.value


def test_each_list_is_saved_as_its_filters_show_it(console):
    for path, api, column, name in LISTS:
        page = console.go(path)
        wanted = listed(console, api, column)
        download = saved(page, export(page).click)
        assert [one[column] for one in rows(download)] == wanted and wanted, path
        assert download.suggested_filename.startswith(name) and download.suggested_filename.endswith(".csv")
        expect(page.locator(".toast")).to_contain_text(f"{len(wanted)} ")
        expect(page.locator("dialog")).to_have_count(0)


def test_each_list_is_saved_by_the_keyboard_alone(console):
    for path, api, column, _ in LISTS:
        page = console.go(path)
        by_key = saved(page, lambda: page.keyboard.press("e"))
        expect(export(page)).to_be_focused()
        page.locator("main h1").focus()
        by_tab = saved(page, lambda: press(page, export(page)))
        expect(export(page)).to_be_focused()
        assert [one[column] for one in rows(by_key)] == [one[column] for one in rows(by_tab)] == listed(console, api, column)


def test_only_the_search_results_or_the_selected_rows_are_saved(console):
    one = console.tenant()
    for name in ("ada", "adam", "bob", "=1+1"):
        console.api("POST", f"/tenants/{one['id']}/users", {"email": f"{len(name)}{name[0]}@acme.example".replace("=", "x"), "name": name})
    page = console.go(f"/console/t/{one['slug']}/users")
    assert sorted(each["name"] for each in rows(saved(page, export(page).click))) == ["'=1+1", "ada", "adam", "bob"]
    page.get_by_role("searchbox").fill("ada")
    expect(page.locator("tbody tr")).to_have_count(2)
    assert sorted(each["name"] for each in rows(saved(page, export(page).click))) == ["ada", "adam"]
    page.get_by_role("searchbox").fill("")
    expect(page.locator("tbody tr")).to_have_count(4)
    page.get_by_label("Select 3b@acme.example").click()
    page.get_by_label("Select 4x@acme.example").click()
    chosen = page.get_by_role("group", name="Selected rows")
    assert sorted(each["name"] for each in rows(saved(page, export(chosen).click))) == ["'=1+1", "bob"]
    expect(page.get_by_text("2 selected")).to_be_visible()


def test_an_operator_who_only_reads_may_save_the_selected_rows(console):
    other = console.as_operator("auditor")
    page = other.go("/console/t/demo/users")
    page.locator("tbody input").first.click()
    chosen = page.get_by_role("group", name="Selected rows")
    expect(chosen.get_by_role("button")).to_have_text(["Export", "Clear"])
    assert len(rows(saved(page, export(chosen).click))) == 1
    other.check_silence()
    other.close()


# A server that sends as much as it is told to.
SLOW = """() => {
    const whole = fetch
    window.fetch = (path, options) => options?.headers.accept !== "text/csv" ? whole(path, options) : new Promise((answer, refuse) => {
        options.signal.addEventListener("abort", () => refuse(new DOMException("", "AbortError")))
        const body = new ReadableStream({ start: to => {
            window.give = text => to.enqueue(new TextEncoder().encode(text))
            window.fail = () => to.error(new TypeError("network error"))
            window.end = () => to.close()
            options.signal.addEventListener("abort", () => to.error(new DOMException("", "AbortError")))
        } })
        window.begin = () => answer(new Response(body, { headers: { "content-disposition": 'attachment; filename="users.csv"' } }))
    })
}"""


def test_a_long_export_counts_its_rows_and_can_be_stopped(console):
    page = console.go("/console/t/demo/users")
    page.evaluate(SLOW)
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog", name="Export users")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.evaluate("begin(), give('id,name\\r\\n1,\"two\\r\\nlines\"\\r\\n2,\"a \"\"b\"\"\\r\\n')")
    expect(dialog).to_contain_text("1 user, 0 MB")
    page.evaluate("give('\"\\r\\n' + '3,x\\r\\n'.repeat(300000))")
    expect(dialog).to_contain_text("300,002 users, 1.5 MB")
    assert not look(console, "export")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(export(page)).to_be_focused()
    expect(page.locator(".toast")).to_have_count(0)
    # What is there by then is one file.
    export(page).click()
    expect(dialog).to_be_visible()
    page.evaluate("begin(), give('id\\r\\n'), give('7\\r\\n')")
    assert rows(saved(page, lambda: page.evaluate("end()"))) == [{"id": "7"}]
    expect(page.locator(".toast")).to_have_text("1 user exported×")
    expect(dialog).to_have_count(0)


def test_an_export_that_fails_says_why_and_saves_nothing(console):
    console.expects_refusals = True
    page = console.go("/console/audit")
    page.on("download", lambda one: console.faults.append(f"saved {one.suggested_filename}"))
    problem = {"title": "Rate limited", "detail": "2 of your exports are running; wait for one to end.", "code": "rate_limited"}
    part = "**/v1/audit-events*"
    page.route(part, lambda route: route.fulfill(status=429, content_type="application/problem+json", body=json.dumps(problem)))
    export(page).click()
    expect(page.locator(".toast").last).to_contain_text("2 of your exports are running")
    page.unroute(part)
    page.evaluate(SLOW)
    export(page).click()
    expect(page.get_by_role("dialog", name="Export entries")).to_be_visible()
    page.evaluate("begin(), give('id\\r\\n7\\r\\n'), setTimeout(fail, 50)")
    expect(page.locator(".toast").last).to_contain_text("The export stopped early; nothing was saved.")
    expect(page.locator("dialog")).to_have_count(0)


def test_the_requests_of_the_view_tell_how_a_program_gets_the_file(console):
    page = console.go("/console/t/demo/users?status=active")
    saved(page, export(page).click)
    page.get_by_role("button", name="Show the requests of this view").click()
    expect(page.get_by_role("dialog")).to_contain_text("-H 'Accept: text/csv'")


def test_after_a_secret_the_focus_is_where_the_new_one_was_asked_for(console):
    page = console.go("/console/operators")
    begin(page)
    page.keyboard.type("again@gatehouse.test")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="One-time sign-in link")).to_be_visible()
    store(page)
    expect(page.get_by_role("button", name="Add operator")).to_be_focused()
    # By a link too, which opens the dialog before anything has the focus.
    page = console.go("/console/operators?new=1")
    expect(page.locator("form :focus")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Add operator")).to_be_focused()
