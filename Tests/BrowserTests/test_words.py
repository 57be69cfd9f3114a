"""What the console says is true, whole and in the reader's spelling: outcomes, names, times, errors, files."""
import json
import re
import subprocess

from budgets import database
from console import Console
from playwright.sync_api import expect


def decide(console, **attempt):
    answer = console.api("POST", "/hooks/pre-signup", {"provider": "google", "email_verified": True, **attempt})
    return answer, f"/console/decisions/{answer['decision_id']}"


def verified(console, tenant, domain, **policy):
    """Lets the tenant have a verified domain, and a policy."""
    path = f"/tenants/{tenant['id']}"
    made = console.api("POST", f"{path}/domains", {"domain": domain})
    console.api("POST", f"{path}/domains/{made['id']}/verify", {"method": "operator"})
    now = console.context.request.get(f"{console.base}/v1{path}/policy")
    console.context.request.fetch(f"{console.base}/v1{path}/policy", method="PUT", data={**now.json(), **policy}, headers={
        "if-match": now.headers["etag"], "x-gatehouse-console": "1", "sec-fetch-site": "same-origin", "content-type": "application/json"})


def test_each_outcome_of_a_decision_is_told_in_a_sentence(console):
    one, two = console.tenant("First Works"), console.tenant("Second Works")
    for tenant in (one, two):
        console.api("POST", f"/tenants/{tenant['id']}/users", {"email": "both@acme.example"})
    page = console.page
    lead = page.locator("main .lead").first
    answer, path = decide(console, subject="both", email="both@acme.example")
    assert answer["outcome"] == "deferred", answer
    console.go(path)
    expect(lead).to_contain_text("Not decided yet")
    expect(page.get_by_text("Several tenants would admit this person")).to_be_visible()
    answer, path = decide(console, subject="none", email="none@acme.example")
    assert answer["outcome"] == "refused"
    console.go(path)
    expect(lead).to_have_text("Was turned away.")
    expect(page.get_by_text("Invite the address into a tenant")).to_be_visible()


def test_a_person_who_waits_for_approval_was_not_let_in(console):
    one = console.tenant("Waiting Works")
    domain = f"{one['slug']}.example"
    verified(console, one, domain, sign_up="approval")
    provider = console.api("POST", "/providers", {"kind": "oidc", "name": "Staff of Waiting", "issuer": f"https://id.{domain}", "client_id": "x",
                                                  "email_trust": "authoritative", "domains": [domain]})
    answer, path = decide(console, provider=provider["id"], subject="w", email=f"w@{domain}")
    assert answer["outcome"] == "created", answer
    page = console.go(path)
    expect(page.locator("main .lead").first).to_contain_text("Waits for approval")
    expect(page.get_by_role("link", name="Waiting Works").first).to_be_visible()
    expect(page.get_by_role("link", name=f"w@{domain}").first).to_be_visible()
    assert one["id"] not in page.locator(".trace").inner_text()


def test_a_refusal_for_lack_of_authority_says_so_and_says_what_to_do(console):
    one = console.tenant("Authority Works")
    domain = f"{one['slug']}.example"
    verified(console, one, domain, sign_up="domain")
    page = console.go(f"/console/simulator?provider=google&subject=s&email=a@{domain}&tenant={one['slug']}")
    page.get_by_role("button", name="Run").click()
    result = page.locator("main .card").filter(has=page.get_by_role("heading", name="The answer"))
    expect(result).to_contain_text("the provider must be the authority of the domain")
    expect(result).to_contain_text(f"Register a provider as the authority of {domain}")
    trace = result.locator(".trace")
    expect(trace).to_contain_text("Does anything vouch for the address?")
    expect(trace).to_contain_text("The domain is verified, but the provider is not its authority.")
    expect(trace).to_contain_text("Authority Works")
    assert "Is the domain verified?" not in trace.inner_text()


def test_a_mode_of_the_policy_says_what_it_requires_and_warns_without_a_domain(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/policy")
    mode = console.field("Who may sign up")
    mode.select_option("approval")
    expect(page.get_by_text("You answer them under Join requests")).to_be_visible()
    expect(page.locator("form .note.warn")).to_have_count(0)
    mode.select_option("domain")
    expect(page.get_by_text("if the provider is the authority of that domain")).to_be_visible()
    expect(page.locator("form .note.warn")).to_contain_text("no verified domain, so nobody can join this way")
    assert "everyone waits" not in mode.inner_text()
    mode.select_option("invite_only")
    expect(page.locator("form .note.warn")).to_have_count(0)
    verified(console, one, f"{one['slug']}.example")
    console.go(f"/console/t/{one['slug']}/policy")
    mode.select_option("domain")
    expect(page.get_by_text("if the provider is the authority of that domain")).to_be_visible()
    console.idle()
    expect(page.locator("form .note.warn")).to_have_count(0)


def test_names_with_joiners_are_written_as_they_are(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/users"
    persian, family = "می\u200cخواهم", "👩\u200d👩\u200d👧"
    console.api("POST", path, {"email": "a@acme.example", "name": f"{persian} {family}"})
    # A name of before the rule that takes none like it.
    other = console.api("POST", path, {"email": "b@acme.example", "name": "before"})
    subprocess.run(["psql", "-X", "-q", "-d", database(console.server), "-v", "ON_ERROR_STOP=1", "-c",
                    "UPDATE users SET name = U&'pay\\200Cpal\\200D \\200Babc' "
                    f"WHERE tenant_id = '{one['id']}' AND id = '{other['id']}'"], check=True)
    page = console.go(f"/console/t/{one['slug']}/users")
    expect(page.locator("tbody")).to_contain_text(f"{persian} {family}")
    expect(page.locator("tbody")).to_contain_text(r"pay\u200cpal\u200d \u200babc")


def test_letter_keys_work_on_a_layout_without_latin_letters(console):
    page = console.go("/console/t/demo/users")
    page.evaluate("""() => dispatchEvent.call(document.body, new KeyboardEvent("keydown", {key: "л", code: "KeyK", ctrlKey: true, bubbles: true, cancelable: true}))""")
    expect(page.locator(".palette input")).to_be_focused()
    page.keyboard.press("Escape")
    for key, code in (("п", "KeyG"), ("е", "KeyT")):
        page.evaluate("""([key, code]) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, code, bubbles: true, cancelable: true}))""", [key, code])
    expect(page.locator("main h1")).to_have_text("Tenants")


def test_on_a_mac_the_palette_is_offered_by_its_own_key(console):
    console.context.add_init_script("Object.defineProperty(navigator, 'platform', {get: () => 'MacIntel'});"
                                    "Object.defineProperty(navigator, 'userAgentData', {get: () => undefined})")
    page = console.go("/console/")
    expect(page.locator(".finder kbd")).to_have_text("⌘ K")


def test_a_tenant_that_does_not_exist_does_not_stay_in_the_navigation(console):
    console.expects_refusals = True
    page = console.go("/console/t/no-such-tenant/users")
    expect(page.locator("[data-state=missing]").get_by_role("link", name="All tenants")).to_be_visible()
    assert page.locator('.nav a[href*="no-such-tenant"]').count() == 0
    page.get_by_role("link", name="All tenants").click()
    expect(page.locator("main h1")).to_have_text("Tenants")
    assert page.locator('.nav a[href*="no-such-tenant"]').count() == 0
    console.go("/console/t/demo/users/00000000-0000-4000-8000-000000000000")
    page.locator("[data-state=missing]").get_by_role("link", name="All: Users").click()
    expect(page.locator("tbody tr").first).to_be_visible()


def test_a_filter_that_the_server_refuses_is_named(console):
    console.expects_refusals = True
    page = console.go("/console/decisions?email=not-an-address")
    none = page.locator("[data-state=none]")
    expect(none).to_contain_text("Whole address: must be an email address")
    expect(page.locator("[data-state=error]")).to_have_count(0)
    none.get_by_role("button", name="Clear all").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    console.go("/console/t/demo/users?sort=nonsense&status=active")
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?status=active$"))


def test_a_downloaded_file_has_a_name_and_a_form_that_a_program_can_read(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/keys/new")
    console.field("Name").fill("File")
    page.get_by_label("Verify API keys").check()
    page.get_by_role("button", name="Create key").click()
    with page.expect_download() as saved:
        page.get_by_role("dialog").get_by_role("button", name="Download .env").click()
    assert saved.value.suggested_filename == "gatehouse.env"
    assert re.fullmatch(r"GATEHOUSE_KEY=gate_live_\w+\n", saved.value.path().read_text())
    page.get_by_label("I have stored it").check()
    page.get_by_role("dialog").get_by_role("button", name="Done").click()
    console.go(f"/console/t/{one['slug']}/invites?new=1")
    console.field("Email addresses").fill("a@acme.example\n=1+1@acme.example\n'+b@acme.example")
    console.field("Delivery").select_option("link")
    page.get_by_role("dialog").get_by_role("button", name="Invite").click()
    with page.expect_download() as saved:
        page.get_by_role("dialog").get_by_role("button", name="Download CSV").click()
    assert saved.value.suggested_filename == "invites.csv"
    lines = saved.value.path().read_text().splitlines()
    assert lines[0] == '"email","link"' and len(lines) == 4 and lines[1].startswith('"a@acme.example","http'), lines
    assert lines[2].startswith('"\'=1+1@acme.example"') and lines[3].startswith('"\'\'+b@acme.example"'), lines
    page.get_by_label("I have stored it").check()
    page.get_by_role("dialog").get_by_role("button", name="Done").click()


def test_a_slug_is_derived_from_letters_with_marks_and_requested_without_latin_letters(console):
    page = console.go("/console/tenants?new=1")
    for name, slug in (("Ünï Çorp & Søn", "uni-corp-son"), ("Łódź Straße", "lodz-strasse"), ("  A  b ", "a-b"), ("株式会社", "")):
        console.field("Name").fill(name)
        expect(console.field("Slug")).to_have_value(slug)
    expect(page.get_by_text("please type one")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()


def test_a_tenant_is_chosen_by_its_name_for_an_operator_and_a_provider(console):
    console.expects_refusals = True
    one = console.tenant("Picked Works")
    page = console.go("/console/operators?new=1")
    console.field("Email").fill(f"{one['slug']}@gatehouse.test")
    field = console.field("Only this tenant")
    field.press_sequentially("Picked")
    expect(page.locator("datalist option").first).to_have_attribute("value", one["slug"])
    field.fill("no-such-tenant")
    page.get_by_role("dialog").get_by_role("button", name="Add operator").click()
    expect(page.get_by_role("dialog")).to_contain_text("There is no tenant “no-such-tenant”.")
    field.fill(one["slug"])
    page.get_by_role("dialog").get_by_role("button", name="Add operator").click()
    page.get_by_label("I have stored it").check()
    page.get_by_role("dialog").get_by_role("button", name="Done").click()
    row = page.get_by_role("row", name=re.compile(one["slug"]))
    expect(row.get_by_role("link", name="Picked Works")).to_be_visible()
    console.go("/console/providers?new=1")
    console.field("Name").fill("Staff of Picked")
    console.field("Issuer").fill(f"https://{one['slug']}.example")
    console.field("Client id").fill("x")
    field = console.field("Only for this tenant")
    field.press_sequentially("Picked")
    expect(page.locator("datalist option").first).to_have_attribute("value", one["slug"])
    field.fill(one["slug"])
    # In a narrow window this column leaves.
    page.set_viewport_size({"width": 1600, "height": 900})
    page.get_by_role("dialog").get_by_role("button", name="Add provider").click()
    row = page.get_by_role("row", name=re.compile("Staff of Picked"))
    expect(row.get_by_role("link", name="Picked Works")).to_be_visible()


def test_a_list_and_a_page_load_again_by_themselves_after_being_offline(console):
    console.expects_refusals = True
    page = console.go("/console/t/demo/users")
    console.context.set_offline(True)
    page.get_by_label("Status").select_option("active")
    alert = page.locator("main [data-state=error]")
    expect(alert).to_contain_text("You are offline")
    assert "typed" not in alert.inner_text()
    console.context.set_offline(False)
    expect(page.locator("tbody tr").first).to_be_visible()
    page.get_by_role("button", name="Add user").click()
    console.field("Email").fill("a@acme.example")
    console.context.set_offline(True)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("You are offline. Nothing was lost")
    console.context.set_offline(False)


def test_relative_times_advance_and_the_exact_time_can_be_read(console):
    page = console.page
    page.clock.install()
    console.go("/console/t/demo/users")
    first = page.locator("tbody time[data-ago]").first
    before = first.inner_text()
    page.clock.fast_forward("05:00:00")
    expect(first).not_to_have_text(before)
    expect(first).to_have_text(re.compile("5 hours ago"))
    exact = re.compile(r"\w{3} \d+, \d{4}, \d+:\d\d:\d\d")
    for path in ("/console/audit", "/console/decisions/" + console.api("GET", "/provisioning/decisions")["items"][0]["id"]):
        console.go(path)
        expect(page.locator("main :is(tbody, dd) time").first).to_have_text(exact)
    console.go("/console/t/demo/users")
    page.get_by_role("button", name="Operator menu").click()
    page.get_by_role("button", name="Exact times").click()
    page.keyboard.press("Escape")
    expect(page.locator("tbody time").first).to_have_text(exact)


def test_a_language_without_a_catalogue_is_english(console):
    console.expects_refusals = True
    console.context.add_init_script("if (location.protocol !== 'about:') localStorage.setItem('ui', '{\"lang\":\"xx\"}')")
    page = console.go("/console/tenants")
    expect(page.locator("main h1")).to_have_text("Tenants")


def test_names_are_spelled_the_same_in_cells_filters_and_changes(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}"
    user = console.api("POST", f"{path}/users", {"email": "a@acme.example"})
    for provider, issuer in (("oidc", "https://id.acme.example"), ("github", "https://github.com")):
        console.api("POST", f"{path}/users/{user['id']}/identities", {"provider": provider, "issuer": issuer, "subject": "1"})
    page = console.go(f"/console/t/{one['slug']}/users")
    expect(page.locator("tbody")).to_contain_text("OpenID Connect, GitHub")
    answer, _ = decide(console, subject="x", email="x@acme.example", tenant=one["slug"])
    console.go(f"/console/t/{one['slug']}/decisions")
    label = page.get_by_label("Reason").locator(f"option[value={answer['reason']}]").inner_text()
    assert "_" not in label
    expect(page.locator("tbody")).to_contain_text(label)
    verified(console, one, f"{one['slug']}.example", sign_up="domain")
    key = console.api("POST", f"{path}/api-keys", {"name": "Ends", "scopes": ["keys:verify"]})
    console.api("PATCH", f"{path}/api-keys/{key['id']}", {"expires_at": "2099-01-02T03:04:05.000Z"})
    console.go(f"/console/t/{one['slug']}/audit?target={key['id']}")
    expect(page.locator("tbody")).to_contain_text(re.compile(r"Jan \d, 2099"))
    expect(page.locator("tbody")).not_to_contain_text("2099-01-02T03:04:05")
    console.go(f"/console/t/{one['slug']}/policy")
    versions = page.locator(".card").filter(has=page.get_by_role("heading", name="Versions"))
    expect(versions.locator(".diff").first).to_contain_text("Who may sign up")
    expect(versions.locator("ins").first).to_have_text("Domain")
    expect(versions).to_contain_text("just now · Owner")


def test_an_error_is_shown_at_its_field(console):
    console.expects_refusals = True
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/invites?new=1")
    dialog = page.get_by_role("dialog")
    console.field("Email addresses").fill("not an address")
    dialog.get_by_role("button", name="Invite", exact=True).click()
    expect(console.field("Email addresses")).to_have_attribute("aria-invalid", "true")
    expect(dialog.locator(".wrong:visible")).to_contain_text("must be an email address")
    console.field("Email addresses").fill("\n".join(f"p{number}@acme.example" for number in range(1001)))
    dialog.get_by_role("button", name="Invite", exact=True).click()
    expect(dialog.locator(".wrong:visible")).to_contain_text("1001 addresses are more than 1,000")
    console.field("Email addresses").fill(";".join(f"p{number}@acme.example" for number in range(1001)))
    dialog.get_by_role("button", name="Invite", exact=True).click()
    expect(dialog.locator(".wrong:visible")).to_contain_text("1001 addresses are more than 1,000")
    dialog.get_by_role("button", name="Cancel").click()
    console.go("/console/tenants?new=1")
    console.field("Name").fill("Again")
    console.field("Slug").fill(one["slug"])
    dialog.get_by_role("button", name="Create tenant").click()
    expect(console.field("Slug")).to_have_attribute("aria-invalid", "true")
    expect(dialog.locator(".wrong:visible")).to_contain_text("taken")
    dialog.get_by_role("button", name="Cancel").click()
    console.go(f"/console/t/{one['slug']}/policy")
    console.field("Allowed domains").fill("good.example\nnot a domain")
    page.get_by_role("button", name="Publish").click()
    expect(page.locator(".wrong:visible")).to_contain_text("“not a domain” must be a domain name")
    page.get_by_role("button", name="Start over").count()


def test_a_total_that_is_a_lower_bound_is_shown_as_one(console):
    page = console.page
    page.route(re.compile(r"/users\?"), lambda route: route.fulfill(content_type="application/json", body=json.dumps(
        {"items": [{"id": "00000000-0000-4000-8000-000000000001", "email": "a@acme.example", "status": "active", "role": "member"}],
         "next_cursor": None, "total": {"value": 479, "exact": False}})))
    console.go("/console/t/demo/users")
    expect(page.locator("main .bar .end")).to_have_text("at least 479 users")


def test_targets_on_a_phone_are_large_enough(console):
    phone = Console(console.server, console.browser, console.cookies(), viewport={"width": 390, "height": 844})
    page = phone.page
    for path in ("/console/t/demo/users", "/console/t/demo/keys", "/console/decisions", "/console/audit", "/console/tenants", "/console/"):
        phone.go(path)
        small = page.locator("main").evaluate("""main => [...main.querySelectorAll("a, button, input, select, label.target")].filter((one) => {
            const target = one.closest("label") ?? one
            const at = target.getBoundingClientRect()
            return at.width > 0 && getComputedStyle(one).visibility !== "hidden" && (at.height < 27.5 || at.width < 24)
        }).map((one) => one.outerHTML.slice(0, 90))""")
        assert not small, (path, small)
    # What stands beside a row's acts is not covered by them.
    phone.go("/console/t/demo/users")
    page.locator("tbody input").first.click()
    expect(page.get_by_text("1 selected")).to_be_visible()
    phone.check_silence()
    phone.close()


def test_a_refusal_names_the_smallest_change_that_would_admit_and_its_button_makes_it(console):
    one = console.tenant("Nearest Works")
    email = f"ada@{one['slug']}.example"
    _, path = decide(console, subject="ada", email=email, tenant=one["slug"])
    page = console.go(path)
    ways = page.locator(".card").filter(has=page.get_by_role("heading", name="What would let this person in"))
    invite = ways.locator("li").filter(has_text="Invite this address")
    expect(invite).to_contain_text("Nearest Works")
    expect(ways.get_by_role("link", name="Set the sign-up policy to “Open”")).to_have_attribute("href", f"/console/t/{one['slug']}/policy")
    invite.get_by_role("button", name="Invite this address").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(email)
    dialog.get_by_role("button", name="Invite").click()
    expect(invite).to_contain_text("Done: it counts at the next try.")
    if page.get_by_label("I have stored it").count():
        page.get_by_label("I have stored it").check()
        dialog.get_by_role("button", name="Done").click()
    answer, _ = decide(console, subject="ada", email=email, tenant=one["slug"])
    assert answer["outcome"] == "linked", answer


def test_a_suspended_person_is_resumed_from_the_refusal(console):
    one = console.tenant("Resuming Works")
    email = f"bob@{one['slug']}.example"
    user = console.api("POST", f"/tenants/{one['id']}/users", {"email": email})
    answer, _ = decide(console, subject="bob", email=email, tenant=one["slug"])
    assert answer["outcome"] == "linked", answer
    console.api("POST", f"/tenants/{one['id']}/users/{user['id']}/suspend")
    answer, path = decide(console, subject="bob", email=email, tenant=one["slug"])
    assert answer["reason"] == "user_suspended", answer
    page = console.go(path)
    page.get_by_role("button", name="Resume the user").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.get_by_text("Done: it counts at the next try.")).to_be_visible()
    assert console.api("GET", f"/tenants/{one['id']}/users/{user['id']}")["status"] == "active"
    # One press copies an id.
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=answer["decision_id"]).click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == answer["decision_id"]


def test_a_person_who_belongs_to_no_tenant_is_invited_into_a_chosen_one(console):
    one = console.tenant("Choosing Works")
    email = f"stray@{one['slug']}.example"
    answer, path = decide(console, subject=email, email=email)
    assert answer["reason"] == "no_tenant", answer
    page = console.go(path)
    page.get_by_role("button", name="Invite this address").click()
    console.field("Tenant").fill(one["slug"])
    page.get_by_role("dialog").get_by_role("button", name="Invite this address").click()
    expect(page.get_by_text("Done: it counts at the next try.")).to_be_visible()
    invite, = console.api("GET", f"/tenants/{one['id']}/invites")["items"]
    assert invite["email"] == email


def test_an_operator_who_may_not_act_reads_what_would_help_without_a_button(console):
    one = console.tenant()
    _, path = decide(console, subject="eve", email=f"eve@{one['slug']}.example", tenant=one["slug"])
    reader = console.as_operator("auditor")
    page = reader.go(path)
    ways = page.locator(".card").filter(has=page.get_by_role("heading", name="What would let this person in"))
    expect(ways.locator("li").filter(has_text="Invite this address")).to_be_visible()
    expect(ways.get_by_role("button")).to_have_count(0)
    reader.check_silence()
    reader.close()


def test_the_simulator_takes_the_tenant_and_says_which_policy_judged(console):
    one = console.tenant("Judged Works")
    verified(console, one, f"{one['slug']}.example", sign_up="open")
    provider = console.api("POST", "/providers", {"kind": "oidc", "name": "Own of Judged", "issuer": f"https://id.{one['slug']}.example", "client_id": "x"})
    page = console.go(f"/console/t/{one['slug']}/users")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Simulator").click()
    expect(console.field("Tenant")).to_have_value(one["slug"])
    console.field("Provider").select_option(label="Own of Judged")
    console.field("Email").fill("ada@else.example")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("Judged by version 2 of the policy of Judged Works.")).to_be_visible()
    expect(page).to_have_url(re.compile(f"tenant={one['slug']}"))
    # A link that names both by their ids shows their names.
    console.go(f"/console/simulator?tenant={one['id']}&provider={provider['id']}")
    expect(console.field("Tenant")).to_have_value(one["slug"])
    expect(console.field("Provider").locator("option:checked")).to_have_text("Own of Judged")
