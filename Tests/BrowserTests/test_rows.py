"""What can be done to a row: in sight at 1280 pixels, by keyboard too, asked before it is final, taken back after it is done."""
import json
import re
from urllib.parse import unquote

from playwright.sync_api import expect
from test_focus import SETTLED, with_people
from test_keyboard import press
from test_states import FAULT

LISTS = ["/console/tenants", "/console/operators", "/console/providers", "/console/t/{}/users", "/console/t/{}/invites", "/console/t/{}/keys",
         "/console/t/{}/domains", "/console/t/{}/origins", "/console/t/{}/clients", "/console/t/{}/decisions"]
# Which of the row's buttons cannot be clicked where they stand. Only the page is scrolled, and only down: a table that
# is wider than its place stays as it is shown.
COVERED = """() => [...document.querySelectorAll("main td.end button")].filter((one) => {
    scrollBy(0, one.getBoundingClientRect().top - innerHeight / 2)
    const at = one.getBoundingClientRect()
    const hit = document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2)
    return at.right > innerWidth || !one.contains(hit)
}).map((one) => one.getAttribute("aria-label"))"""


def crowded(console):
    """A tenant with a row of everything, each with long names."""
    one = console.tenant("A tenant of a rather long name")
    path = f"/tenants/{one['id']}"
    long = "a-rather-long-name-that-takes-its-place"
    key = console.api("POST", f"{path}/api-keys", {"name": f"Production {long}", "scopes": ["keys:verify", "users:read", "audit:read"]})
    console.api("POST", f"{path}/api-keys/{key['id']}/rotate", {"grace_seconds": 3600})
    console.api("POST", f"{path}/users", {"email": f"{long}.of.a.person@acme.example", "name": "Ada " + "Lovelace " * 4})
    console.api("POST", f"{path}/invites", {"email": f"{long}.invited@acme.example", "delivery": "link"})
    console.api("POST", f"{path}/domains", {"domain": f"{long}.{one['slug']}.example"})
    console.api("POST", f"{path}/cors-origins", {"origin": f"https://{long}.acme.example", "label": "The label " * 8})
    return one


def test_every_action_of_every_row_can_be_reached_at_1280_pixels(console):
    one = crowded(console)
    page = console.page
    for path in (each.format(one["slug"]) for each in LISTS):
        console.go(path)
        console.idle()
        assert page.evaluate(COVERED) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        more = page.get_by_role("button", name=re.compile("^More for"))
        if more.count() == 0:
            continue
        # By keyboard alone: the first act has the focus, arrows go on, Escape gives it back.
        more.first.focus()
        page.keyboard.press("Enter")
        items = page.get_by_role("menuitem")
        expect(items.first).to_be_focused()
        for item in items.all():
            box = item.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 1280 and box["y"] + box["height"] <= 800, (path, box)
        page.keyboard.press("ArrowUp")
        expect(items.last).to_be_focused()
        page.keyboard.press("Escape")
        expect(items).to_have_count(0)
        expect(more.first).to_be_focused()


def test_no_row_contains_anything_red(console):
    page = console.go("/console/t/demo/users")
    colours = page.locator("td.end button").evaluate_all("all => all.map(one => getComputedStyle(one).color)")
    danger = page.evaluate("""() => { const probe = document.createElement('span'); probe.className = 'btn danger'; document.body.append(probe);
        const colour = getComputedStyle(probe).backgroundColor; probe.remove(); return colour }""")
    assert colours and danger not in colours


def test_a_row_keeps_the_focus_when_the_table_is_drawn_anew(console):
    one = console.tenant()
    for name in "abc":
        user = console.api("POST", f"/tenants/{one['id']}/users", {"email": f"{name}@acme.example"})
        console.api("POST", f"/tenants/{one['id']}/users/{user['id']}/suspend")
    page = console.go(f"/console/t/{one['slug']}/users?sort=email")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="b@acme.example")).to_be_focused()
    row = page.get_by_role("row", name=re.compile("b@acme.example"))
    press(page, row.get_by_role("button", name="Resume"))
    expect(row).not_to_contain_text("Suspended")
    expect(row.locator(":focus")).to_have_count(1)
    page.keyboard.press("z")
    expect(row).to_contain_text("Suspended")
    expect(row.locator(":focus")).to_have_count(1)
    page.keyboard.press("j")
    expect(page.get_by_role("row", name=re.compile("c@acme.example")).locator(":focus")).to_have_count(1)


def test_the_next_page_has_the_focus_at_its_table(console):
    one = console.tenant()
    emails = [{"email": f"p{number:03}@acme.example", "delivery": "link"} for number in range(55)]
    console.api("POST", f"/tenants/{one['id']}/invites", {"invites": emails})
    page = console.go(f"/console/t/{one['slug']}/invites")
    page.get_by_role("button", name="Next page").focus()
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(5)
    expect(page.locator("main .table")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("tbody tr").first.locator(":focus")).to_have_count(1)


def test_an_act_that_ends_a_secret_or_a_link_asks_first(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}"
    key = console.api("POST", f"{path}/api-keys", {"name": "Rotated", "scopes": ["users:read"]})
    console.api("POST", f"{path}/api-keys/{key['id']}/rotate", {"grace_seconds": 3600})
    console.api("POST", f"{path}/invites", {"email": "a@acme.example", "delivery": "link"})
    page = console.page
    dialog = page.get_by_role("dialog")
    for tab, name, kept in (("keys", "End old secret", "Keep"), ("keys", "Roll back", "Keep the new secret"), ("invites", "Revoke", "Keep")):
        console.go(f"/console/t/{one['slug']}/{tab}")
        console.requests.clear()
        console.more(page.locator("tbody tr").first, name)
        expect(dialog.get_by_role("button", name=kept, exact=True)).to_be_focused()
        page.keyboard.press("Enter")
        expect(dialog).to_have_count(0)
        assert console.asked("/v1/", "POST") == [], name
    console.go(f"/console/t/{one['slug']}/invites")
    page.get_by_role("button", name="Resend a@acme.example").click()
    expect(dialog).to_contain_text("stops working now")
    dialog.get_by_role("button", name="Keep the old link").click()
    assert console.api("GET", f"{path}/invites")["items"][0]["sent_count"] == 1
    # The key's own page asks as well.
    console.go(f"/console/t/{one['slug']}/keys/{key['id']}")
    page.get_by_role("button", name="End old secret").click()
    dialog.get_by_role("button", name="End old secret").click()
    expect(page.get_by_text("The old secret has ended")).to_be_visible()
    assert console.api("GET", f"{path}/api-keys/{key['id']}")["previous"] is None


def test_z_restores_users_who_were_suspended_or_deleted_together(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/users"
    for name in "abc":
        user = console.api("POST", path, {"email": f"{name}@acme.example"})
        if name != "c":
            console.api("POST", f"{path}/{user['id']}/suspend")
    page = console.go(f"/console/t/{one['slug']}/users")
    group = page.get_by_role("group", name="Selected rows")
    page.get_by_label("Select all of this page").check()
    group.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete 3 users").click()
    expect(page.get_by_text("Nobody has come in yet")).to_be_visible()
    page.locator("main h1").focus()
    page.keyboard.press("z")
    expect(page.locator("tbody tr")).to_have_count(3)
    assert sorted(user["status"] for user in console.api("GET", path)["items"]) == ["pending", "suspended", "suspended"]
    page.get_by_label("Select all of this page").check()
    group.get_by_role("button", name="Resume 2").click()
    expect(page.locator("tbody").get_by_text("Suspended")).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator("tbody").get_by_text("Suspended")).to_have_count(2)


def test_the_bar_never_offers_actions_for_another_selection(console):
    one = with_people(console, "a", "b", "c")
    page = console.go(f"/console/t/{one['slug']}/users?sort=email")
    group = page.get_by_role("group", name="Selected rows")
    page.get_by_label("Select a@acme.example").check()
    expect(group).to_contain_text("1 selected")
    group.get_by_role("button", name="Clear").click()
    expect(group).to_be_hidden()
    # All are chosen and resumed in one turn, before anything that waits can come between.
    said = page.evaluate("""() => {
        document.querySelector("thead .pick input").click()
        const bar = document.querySelector(".bar.bulk"), said = bar.innerText
        for (const one of bar.querySelectorAll("button")) if (one.innerText === "Resume") one.click()
        return said
    }""")
    assert said.startswith("3 selected"), said
    expect(page.locator("tbody").get_by_text("Suspended")).to_have_count(0)


def test_while_an_act_on_a_selection_runs_the_bar_starts_no_other(console):
    one = with_people(console, "a", "b", "c")
    page, held = console.go(f"/console/t/{one['slug']}/users?sort=email"), []
    group = page.get_by_role("group", name="Selected rows")
    page.route(re.compile(r"/users/actions$"), lambda route: held.append(route))
    page.get_by_label("Select all of this page").check()
    with page.expect_request(re.compile(r"/users/actions$")):
        group.get_by_role("button", name="Resume").click()
    page.get_by_label("Select a@acme.example").uncheck()
    group.get_by_role("button", name="Delete").click()
    page.evaluate(SETTLED)
    expect(group).to_contain_text("3 selected")
    expect(page.get_by_role("dialog")).to_have_count(0)
    held[0].continue_()
    expect(page.locator("tbody").get_by_text("Suspended")).to_have_count(0)
    expect(group).to_be_hidden()


def test_an_undo_waits_until_an_act_on_another_selection_has_ended(console):
    one = with_people(console, "a", "b", "c")
    page, held = console.go(f"/console/t/{one['slug']}/users?sort=email"), []
    group = page.get_by_role("group", name="Selected rows")
    page.get_by_label("Select a@acme.example").check()
    group.get_by_role("button", name="Resume").click()
    undo = page.locator(".toast").get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    expect(group).to_be_hidden()
    page.route(re.compile(r"/users/actions$"), lambda route: held.append(route))
    page.get_by_label("Select b@acme.example").check()
    page.get_by_label("Select c@acme.example").check()
    with page.expect_request(re.compile(r"/users/actions$")):
        group.get_by_role("button", name="Resume").click()
    console.requests.clear()
    undo.click()
    page.evaluate(SETTLED)
    assert not console.asked("/suspend", "POST")
    held[0].continue_()
    expect(page.locator("tbody tr").filter(has_text="a@acme.example")).to_contain_text("Suspended")
    expect(page.locator("tbody").get_by_text("Suspended")).to_have_count(1)
    expect(group).to_be_hidden()
    page.get_by_label("Select a@acme.example").check()
    expect(group).to_contain_text("1 selected")


def test_rows_that_could_not_be_reloaded_are_no_longer_selected(console):
    console.expects_refusals = True
    one = with_people(console, "a", "b", "c")
    page = console.go(f"/console/t/{one['slug']}/users?sort=email")
    group = page.get_by_role("group", name="Selected rows")
    page.get_by_label("Select a@acme.example").check()
    expect(group).to_contain_text("1 selected")
    page.route(re.compile(r"/users\?"), lambda route: route.fulfill(
        status=503, content_type="application/problem+json", body=json.dumps(FAULT)))
    page.locator("tbody tr", has_text="b@acme").get_by_role("button", name="Resume").click()
    expect(page.locator("main [data-state=error]")).to_be_visible()
    expect(group).to_be_hidden()


def test_matches_that_arrive_late_do_not_change_a_newer_selection(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/invites"
    console.api("POST", path, {"invites": [{"email": f"p{number:03}@acme.example", "delivery": "link"} for number in range(70)]})
    page, held = console.go(f"/console/t/{one['slug']}/invites?q=p"), []
    group = page.get_by_role("group", name="Selected rows")
    page.get_by_label("Select all of this page").check()
    expect(group).to_contain_text("50 selected")
    page.route(re.compile(r"/v1/.*/invites\?"), lambda route: held.append(route))
    with page.expect_request(re.compile(r"/v1/.*/invites\?")):
        group.get_by_role("button", name="Select all that match").click()
    expect(group).to_contain_text("Reading all that match")
    page.locator("tbody .pick input").first.uncheck()
    expect(group).to_contain_text("49 selected")
    with page.expect_response(re.compile(r"/v1/.*/invites\?")) as answer:
        held[0].continue_()
    answer.value.finished()
    page.evaluate(SETTLED)
    expect(group).to_contain_text("49 selected")


def test_all_matches_beyond_the_page_are_selected_and_their_number_is_typed(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/invites"
    people = [{"email": f"p{number:03}@acme.example", "delivery": "link"} for number in range(120)]
    console.api("POST", path, {"invites": people})
    page = console.go(f"/console/t/{one['slug']}/invites?q=p")
    page.get_by_label("Select all of this page").check()
    group = page.get_by_role("group", name="Selected rows")
    group.get_by_role("button", name="Select all that match").click()
    expect(group).to_contain_text("All 120 invites that match are selected")
    group.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("120")
    page.get_by_role("dialog").get_by_role("button", name="Revoke 120 invites").click()
    # More than the server does at once is a job, which is followed on a page of its own.
    expect(page.get_by_text("120 of 120 rows done")).to_be_visible()
    assert console.api("GET", f"{path}?status=pending")["total"]["value"] == 0


def test_waiting_people_are_approved_together(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}"
    domain = f"{one['slug']}.example"
    made = console.api("POST", f"{path}/domains", {"domain": domain})
    console.api("POST", f"{path}/domains/{made['id']}/verify", {"method": "operator"})
    provider = console.api("POST", "/providers", {"kind": "oidc", "name": "Staff", "issuer": f"https://id.{domain}", "client_id": "x",
                                                  "email_trust": "authoritative", "domains": [domain]})
    policy = console.context.request.get(f"{console.base}/v1{path}/policy")
    console.context.request.fetch(f"{console.base}/v1{path}/policy", method="PUT", data={**policy.json(), "sign_up": "approval"}, headers={
        "if-match": policy.headers["etag"], "x-gatehouse-console": "1", "sec-fetch-site": "same-origin", "content-type": "application/json"})
    for name in "ab":
        answer = console.api("POST", "/hooks/pre-signup", {"provider": provider["id"], "subject": name, "email": f"{name}@{domain}", "email_verified": True})
        assert answer["outcome"] == "created", answer
    page = console.go(f"/console/t/{one['slug']}/users")
    page.get_by_label("Select all of this page").check()
    page.get_by_role("group", name="Selected rows").get_by_role("button", name="Approve").click()
    expect(page.locator("tbody").get_by_text("Active")).to_have_count(2)
    # The decision that made the one who waited said so while it was true.
    decision = console.api("GET", f"{path}/provisioning/decisions")["items"][0]
    console.go(f"/console/decisions/{decision['id']}")
    expect(page.locator(".lead").first).to_have_text("A user was made for this person.")


def test_a_deleted_tenant_and_a_deleted_user_offer_no_actions(console):
    one = console.tenant("Gone Works")
    path = f"/tenants/{one['id']}"
    user = console.api("POST", f"{path}/users", {"email": "gone@acme.example"})
    console.api("DELETE", f"{path}/users/{user['id']}")
    page = console.go(f"/console/t/{one['slug']}/users/{user['id']}")
    expect(page.locator(".note.danger")).to_contain_text(re.compile(r"can be restored until \w+ \d+, \d{4}"))
    note, card = (page.locator(each).first.bounding_box() for each in ("main .note.danger", "main .two .card"))
    assert note["y"] + note["height"] + 8 <= card["y"], (note, card)
    for name in ("Unlink", "End all", "Link grant", "Edit"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_role("button", name="Restore")).to_be_visible()
    console.api("DELETE", path)
    for tab in ("users", "invites", "keys", "origins", "domains"):
        console.go(f"/console/t/{one['slug']}/{tab}")
        expect(page.locator("main .note.danger")).to_contain_text("This tenant is deleted")
        expect(page.locator("main .primary, main [data-export], main [data-new], main td.end")).to_have_count(0)


def test_an_invite_shows_what_became_of_its_mail(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/invites"
    for name in ("ann", "bob", "cid"):
        console.api("POST", path, {"email": f"{name}@acme.example", "delivery": "link"})
    page = console.page
    states = {
        "ann@acme.example": ("bounced", "550 5.1.1 <ann@acme.example>: no such user <b>here</b>"),
        "bob@acme.example": ("queued", None), "cid@acme.example": (None, None)}

    def answer(route):
        # The server of this test mails nothing, so no invite of its own has a state.
        got = route.fetch(url=re.sub("delivery_status=[^&]*", "", route.request.url))
        data = got.json()
        for item in data["items"]:
            item["delivery_status"], item["delivery_detail"] = states[item["email"]]
            item["delivery"] = "mail" if item["delivery_status"] else "link"
        wanted = re.search("delivery_status=([^&]+)", route.request.url)
        if wanted:
            data["items"] = [item for item in data["items"] if item["delivery_status"] in unquote(wanted[1]).split(",")]
        route.fulfill(response=got, json=data)

    page.route(re.compile(r"/invites(\?|$)"), lambda route: answer(route) if "/v1/" in route.request.url else route.continue_())
    console.go(f"/console/t/{one['slug']}/invites")
    row = page.locator("tbody tr", has_text="ann@acme.example")
    expect(row.locator(".tag", has_text="Bounced")).to_be_visible()
    expect(row).to_contain_text("no such user <b>here</b>")
    expect(page.locator("tbody tr", has_text="bob@acme.example").locator(".tag", has_text="Queued")).to_be_visible()
    console.more(row, "Mail server's words")
    expect(page.get_by_role("dialog")).to_contain_text(states["ann@acme.example"][1])
    page.keyboard.press("Escape")
    rows = page.locator("tbody tr")
    mail = page.get_by_label("Mail", exact=True)
    mail.select_option("bounced")
    expect(page).to_have_url(re.compile("delivery_status=bounced"))
    expect(rows).to_have_count(1)
    states["bob@acme.example"] = ("refused", "554 5.7.1 not here")
    mail.select_option(label="Refused or bounced")
    expect(page).to_have_url(re.compile("delivery_status=refused"))
    expect(rows).to_have_count(2)
    # All that failed are sent again together: those that were mailed.
    mail.select_option(label="Any mail")
    expect(rows).to_have_count(3)
    resent = []

    def resend(route):
        resent.append(route.request.post_data_json)
        items = [{"id": one, "status": "done"} for one in resent[0]["ids"]]
        route.fulfill(status=200, content_type="application/json", body=json.dumps({"items": items, "count": len(items)}))

    page.route(re.compile("/invites/actions$"), resend)
    page.get_by_label("Select all of this page").check()
    page.get_by_role("button", name="Resend 2", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Resend 2 invites").click()
    expect(page.get_by_text("Resend: 2 invites done")).to_be_visible()
    mailed = {item["id"] for item in console.api("GET", path)["items"] if not item["email"].startswith("cid")}
    assert len(resent) == 1 and resent[0]["action"] == "resend" and set(resent[0]["ids"]) == mailed


def test_a_row_is_opened_beside_its_list_by_keys_and_by_mouse(console):
    one = console.tenant()
    for name in "abc":
        console.api("POST", f"/tenants/{one['id']}/users", {"email": f"{name}@acme.example", "external_id": f"crm-{name}"})
    page = console.go(f"/console/t/{one['slug']}/users?sort=email")
    panel = page.locator("aside.peek")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="a@acme.example")).to_be_focused()
    page.keyboard.press("Space")
    expect(panel).to_contain_text("crm-a")
    expect(panel.get_by_role("link", name="Open")).to_have_attribute("href", re.compile("/users/[0-9a-f-]+$"))
    page.keyboard.press("ArrowDown")
    expect(panel).to_contain_text("crm-b")
    expect(page.get_by_role("link", name="b@acme.example")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(panel).to_contain_text("crm-c")
    page.keyboard.press("ArrowUp")
    expect(panel).to_contain_text("crm-b")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(page.get_by_role("link", name="b@acme.example")).to_be_focused()
    # By mouse beside what the row holds; another page takes it along no more.
    page.locator("tbody tr", has_text="c@acme.example").locator("td", has_text="never").click()
    expect(panel).to_contain_text("crm-c")
    page.get_by_role("link", name="Invites").first.click()
    expect(page.locator("main h1")).to_have_text("Invites")
    expect(panel).to_have_count(0)
    for path, text in ((f"/console/t/{one['slug']}/audit", "User created"), ("/console/decisions", "Policy version")):
        console.go(path)
        page.locator("tbody a").first.focus()
        page.keyboard.press("Space")
        expect(panel).to_contain_text(text)


def test_a_column_that_is_hidden_stays_so_until_it_is_shown_again(console):
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/users", {"email": "a@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/users")
    heads = lambda: [text for text in page.locator("thead th").all_inner_texts() if text]
    before = heads()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("menuitem", name=re.compile("^Hide: Role")).click()
    expect(page.get_by_role("columnheader", name="Role")).to_have_count(0)
    expect(page.get_by_role("button", name="Columns")).to_be_focused()
    page.reload()
    expect(page.get_by_role("link", name="a@acme.example")).to_be_visible()
    assert heads() == [text for text in before if text != "Role"], heads()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("menuitem", name=re.compile("^Show: Role")).click()
    expect(page.get_by_role("columnheader", name="Role")).to_be_visible()
    assert heads() == before
