"""What is done to many at once: acts on all that match, as a job that can be followed and undone, and imports."""
import gzip
import json
import re

from playwright.sync_api import expect

CSV = ("Mail,Full name,Group\r\n" + "".join(f"p{number}@import.example,Person {number},staff\r\n" for number in range(30))
       + "not an address,Nobody,staff\r\n")


def test_an_act_on_more_than_a_hundred_rows_is_a_job_that_is_followed_and_undone(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}"
    people = [{"email": f"p{number:03}@acme.example", "delivery": "link"} for number in range(110)]
    console.api("POST", f"{path}/invites", {"invites": people})
    for number in range(3):
        console.api("POST", f"{path}/users", {"email": f"by-hand{number}@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/users")
    page.get_by_label("Select all of this page").check()
    group = page.get_by_role("group", name="Selected rows")
    group.get_by_role("button", name="Select all that match").click()
    expect(group).to_contain_text("All 113 users that match are selected")
    group.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("113")
    page.get_by_role("dialog").get_by_role("button", name="Delete 113 users").click()
    expect(page).to_have_url(re.compile(f"/console/t/{one['slug']}/jobs/[0-9a-f-]+$"))
    expect(page.get_by_text("of 113 rows done")).to_be_visible()
    expect(page.locator("main h1 .tag", has_text="Done")).to_be_visible()
    console.go(f"/console/t/{one['slug']}/jobs")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody a.main").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("dialog").get_by_role("button", name="Undo the job").click()
    expect(page.locator("main h1 .tag", has_text="Undone")).to_be_visible()
    left = console.api("GET", f"{path}/users?status=pending&q=by-hand")
    assert left["total"]["value"] == 3


def test_users_of_a_csv_are_tried_mapped_and_imported(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users")
    page.get_by_role("link", name="Import").click()
    page.get_by_label("CSV, JSON or NDJSON").set_input_files(
        files=[{"name": "people.csv", "mimeType": "text/csv", "buffer": CSV.encode()}])
    expect(page.get_by_label("Format")).to_have_value("csv")
    # Columns are guessed by their names, and the first rows are shown.
    expect(page.get_by_label("What Mail is")).to_have_value("email")
    expect(page.get_by_label("What Full name is")).to_have_value("name")
    expect(page.get_by_label("What Group is")).to_have_value("")
    expect(page.locator("tbody")).to_contain_text("p0@import.example")
    page.get_by_role("button", name="Try it").click()
    expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]+$"))
    expect(page.locator("main h1 .tag", has_text="Done")).to_be_visible()
    expect(page.locator("main")).to_contain_text("tried only")
    expect(page.locator("main")).to_contain_text("30 of 31 rows done, 1 not")
    assert console.api("GET", f"/tenants/{one['id']}/users")["total"]["value"] == 0
    console.go(f"/console/t/{one['slug']}/users/import")
    page.get_by_label("CSV, JSON or NDJSON").set_input_files(
        files=[{"name": "people.csv", "mimeType": "text/csv", "buffer": CSV.encode()}])
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("main h1 .tag", has_text="Done")).to_be_visible()
    # What went wrong stands in place, with its row.
    wrong = page.get_by_role("region", name="Rows that were not done")
    expect(wrong.locator("tbody tr")).to_have_count(1)
    assert console.api("GET", f"/tenants/{one['id']}/users")["total"]["value"] == 30


def choose(page, name, text):
    page.get_by_label("CSV, JSON or NDJSON").set_input_files(
        files=[{"name": name, "mimeType": "text/csv", "buffer": text.encode()}])


def test_wrong_rows_are_corrected_after_a_dry_run_and_the_file_stays(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users/import")
    choose(page, "people.csv", "\ufeffMail,Full name,Group\r\nann@import.example,\"Ann, the first\",staff\r\n"
           "not an address,Bob,staff\r\n\r\nwrong too,\"Cid \"\"C\"\"\nDoe\",x\r\ndan@import.example,Dan,ü\r\n")
    page.get_by_label("If a person is here already").select_option("fail")
    page.get_by_label("What Group is").select_option("Public attribute Group")
    # Left by mistake, and come back to.
    page.get_by_role("link", name="All users").click()
    page.get_by_role("link", name="Import").click()
    expect(page.get_by_label("What Group is")).to_have_value("public_attributes.Group")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("main")).to_contain_text("2 of 4 rows done, 2 not")
    # What was wrong stands in fields, in its place in the file.
    expect(page.get_by_label("Mail of row 2")).to_have_value("not an address")
    page.get_by_label("Mail of row 2").fill("bob@import.example")
    # Leaving loses it: that is asked.
    page.get_by_role("link", name="Jobs").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Stay").click()
    page.get_by_role("button", name="Try these again").click()
    # Those alone are tried again.
    expect(page.locator("main")).to_contain_text("1 of 2 rows done, 1 not")
    expect(page.get_by_label("Full name of row 3")).to_have_value('Cid "C"Doe')
    page.get_by_label("Mail of row 3").fill("cid@import.example")
    page.get_by_label("Full name of row 3").fill('Cid "C", Doe')
    page.get_by_role("button", name="Try these again").click()
    expect(page.locator("main")).to_contain_text("1 of 1 rows done")
    expect(page.get_by_text("Every row was done.")).to_be_visible()
    # The file and how it is read are still there.
    page.get_by_role("link", name="Change how it is read").click()
    expect(page.get_by_text("people.csv is still here")).to_be_visible()
    expect(page.get_by_label("If a person is here already")).to_have_value("fail")
    expect(page.get_by_label("What Group is")).to_have_value("public_attributes.Group")
    page.go_back()
    assert console.api("GET", f"/tenants/{one['id']}/users")["total"]["value"] == 0
    page.get_by_role("button", name="Import people.csv").click()
    expect(page.locator("main")).to_contain_text("4 of 4 rows done")
    found = console.api("GET", f"/tenants/{one['id']}/users?sort=email")["items"]
    assert [(user["email"].split("@")[0], user["name"], user["public_attributes"]["Group"]) for user in found] == [
        ("ann", "Ann, the first", "staff"), ("bob", "Bob", "staff"), ("cid", 'Cid "C", Doe', "x"), ("dan", "Dan", "ü")]


def test_rows_that_an_import_refused_are_imported_once_they_are_right(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users/import")
    choose(page, "people.csv", CSV)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("main")).to_contain_text("30 of 31 rows done, 1 not")
    with page.expect_download() as saved:
        page.get_by_role("button", name="These as CSV").click()
    lines = open(saved.value.path(), encoding="utf-8").read().splitlines()
    assert len(lines) == 2 and lines[1].startswith("31,failed,"), lines
    page.get_by_label("Mail of row 31").fill("p30@import.example")
    page.get_by_role("button", name="Import these again").click()
    expect(page.locator("main")).to_contain_text("1 of 1 rows done")
    assert console.api("GET", f"/tenants/{one['id']}/users")["total"]["value"] == 31
    # After a reload the tab has the file no longer.
    page.go_back()
    expect(page.get_by_role("button", name="Import these again")).to_be_visible()
    page.reload()
    expect(page.get_by_role("region", name="Rows that were not done")).to_be_visible()
    expect(page.get_by_role("button", name="Import these again")).to_have_count(0)


def test_a_job_of_invites_shows_whose_mail_bounced_and_sends_it_again(console):
    one = console.tenant()
    page = console.page
    job = {"id": "0b7e1f7e-5b0f-4c7e-9d55-0f5a0c9d2b11", "tenant_id": one["id"], "kind": "invites", "status": "done", "dry_run": False,
           "progress": {"done": 1200, "failed": 0, "total": 1200, "rate": 0, "eta": None}, "kept": 0, "undone": 0, "undo_until": None,
           "created_by": {"type": "operator", "name": "Ann"}, "created_at": "2026-11-20T09:30:00.000Z",
           "started_at": "2026-11-20T09:30:00.000Z", "finished_at": "2026-11-20T09:31:00.000Z"}
    sent = []
    # The server of this test mails nothing, and makes no such job.
    page.route(re.compile(f"/v1/.*/jobs/{job['id']}$"), lambda route: route.fulfill(json=job))
    numbers = {"sent": 1190, "queued": 7, "refused,bounced": 3}

    def count(route):
        state = re.search("delivery_status=([^&]+)", route.request.url)[1].replace("%2C", ",")
        assert f"job_id={job['id']}" in route.request.url
        route.fulfill(json={"items": [], "next_cursor": None, "total": {"value": numbers[state], "exact": True}})

    page.route(re.compile(r"/v1/.*/invites\?"), count)
    page.route(re.compile("/v1/.*/invites/actions"), lambda route: (
        sent.append(route.request.post_data_json), route.fulfill(json={"items": [], "count": 3})))
    console.go(f"/console/t/{one['slug']}/jobs/{job['id']}")
    expect(page.get_by_text("Mails: 1,190 sent, 7 on their way, 3 refused or bounced.")).to_be_visible()
    expect(page.get_by_text("Nothing went wrong")).to_have_count(0)
    # The bar is as wide as its card.
    bar, card = (page.locator(which).bounding_box()["width"] for which in ("main progress", "main .card >> nth=0"))
    assert card - bar < 40, (bar, card)
    page.get_by_role("button", name="Resend these").click()
    numbers["refused,bounced"] = 0
    page.get_by_role("dialog").get_by_role("button", name="Resend").click()
    expect(page.get_by_text("0 refused or bounced.")).to_be_visible()
    assert sent == [{"action": "resend", "filter": {"job_id": job["id"], "delivery_status": ["refused", "bounced"]}, "expected": 3}]
    expect(page.get_by_role("link", name="See the invites")).to_have_attribute("href", re.compile(f"invites.job_id={job['id']}$"))


def test_a_packed_csv_is_mapped_and_imported_with_attributes(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users/import")
    # Longer than what the page looks at, in two members as concatenated files are.
    rows = "".join(f"p{number}@import.example,Person {number},staff,{number}\r\n" for number in range(2500))
    packed = gzip.compress(b"Mail,Full name,Group,private_attributes.seat\r\n") + gzip.compress(rows.encode())
    page.get_by_label("CSV, JSON or NDJSON").set_input_files(
        files=[{"name": "people.csv.gz", "mimeType": "application/gzip", "buffer": packed}])
    expect(page.get_by_label("What Mail is")).to_have_value("email")
    expect(page.get_by_label("What private_attributes.seat is")).to_have_value("private_attributes.seat")
    page.get_by_label("What Group is").select_option("Public attribute Group")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]+$"))
    expect(page.locator("main h1 .tag", has_text="Done")).to_be_visible()
    expect(page.locator("main")).to_contain_text("2,500 of 2,500 rows done")
    found = console.api("GET", f"/tenants/{one['id']}/users?q=p2499@")["items"]
    assert found[0]["public_attributes"] == {"Group": "staff"}
    assert found[0]["private_attributes"] == {"seat": "2499"}


def test_the_issuer_of_a_former_system_goes_along(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users/import")
    user = {"user_id": "auth0|5f7c8ec7c33c6c004bbafe82", "email": "ann@import.example", "email_verified": True}
    page.get_by_label("CSV, JSON or NDJSON").set_input_files(
        {"name": "auth0.ndjson", "mimeType": "application/x-ndjson", "buffer": json.dumps(user).encode()})
    expect(page.get_by_label("Format")).to_have_value("auth0")
    page.get_by_label("Issuer").fill("https://acme.eu.auth0.com/")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("main h1 .tag", has_text="Done")).to_be_visible()
    found = console.api("GET", f"/tenants/{one['id']}/users?q=ann@import")["items"]
    assert found[0]["identities"][0]["issuer"] == "https://acme.eu.auth0.com/"
    assert found[0]["identities"][0]["subject"] == user["user_id"]


def test_an_operator_whose_sign_in_is_old_signs_in_again_before_an_import(console):
    console.expects_refusals = True
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users/import")
    page.get_by_label("CSV, JSON or NDJSON").set_input_files(
        {"name": "p.csv", "mimeType": "text/csv", "buffer": b"email\r\nann@import.example\r\n"})
    asked = {"type": "about:blank", "title": "Sign in again", "status": 403, "code": "step_up_required", "remedies": ["sign_in_again"],
             "detail": "An import needs a sign-in within the last 10 minutes: sign out and in again."}
    page.route(re.compile("/imports"), lambda route: route.fulfill(
        status=403, content_type="application/problem+json", body=json.dumps(asked)))
    page.get_by_role("button", name="Try it").click()
    # Who signs in at a provider that does not say when it asked.
    dialog = page.get_by_role("dialog", name="There is nothing to prove it by")
    expect(dialog).to_contain_text("a sign-in within the last 10 minutes")
    # The session is that of the other tests, too.
    ended = []
    page.route(re.compile("/v1/session$"), lambda route: (
        ended.append(route.request.method), route.fulfill(status=401, content_type="application/problem+json", body="{}")
        if ended[1:] else route.fulfill(status=204)))
    dialog.get_by_role("button", name="Sign in again").click()
    expect(page).to_have_url(re.compile(r"/console/sign-in\?next=.*import$"))
    assert ended[0] == "DELETE"
