"""Each page in each role, at the platform and at one tenant: no error, no refusal that the page does not say."""
from places import all_pages
from playwright.sync_api import expect

# Those with the fewest rights first: what is missed is seen soonest.
ROLES = ("support", "auditor", "developer", "admin", "owner")


def walk(console, role, tenant=None):
    """Opens every page in that role; gives what went wrong, and which pages the role may not see."""
    paths = [path for path in all_pages(console) if "?" not in path and path != "/console/none"]
    other = console.as_operator(role, tenant)
    other.expects_refusals = True
    page = other.page
    refused, wrong, hidden = [], [], set()
    page.on("response", lambda answer: answer.status >= 400 and refused.append((answer.status, answer.url)))
    for path in paths:
        refused.clear()
        other.go(path)
        other.settle()
        is_hidden = page.locator("main [data-state=forbidden]").count() > 0
        if is_hidden:
            hidden.add(path)
        if page.locator("main [data-state=error]").count():
            wrong.append(f"{role} {path}: {page.locator('main [data-state=error]').first.inner_text()}")
        wrong += [f"{role} {path}: {one}" for one in refused if one[0] != 403 or not is_hidden]
        # Where the navigation leads, there is something to see.
        listed = page.locator(f'.nav a[href="{path}"], .tabs a[href="{path}"]').count()
        if listed and is_hidden:
            wrong.append(f"{role} {path}: in the navigation, and not to be seen")
    wrong += other.faults
    other.close()
    return wrong, hidden


def test_each_page_opens_in_each_role_of_the_platform(console):
    for role in ROLES:
        wrong, hidden = walk(console, role)
        assert not wrong, "\n".join(wrong)
        assert (role in ("owner", "admin")) <= (hidden <= {"/console/operators"}), (role, hidden)


def test_each_page_opens_in_each_role_of_a_tenant(console):
    demo = console.api("GET", "/tenants/demo")["id"]
    for role in ROLES:
        wrong, _ = walk(console, role, demo)
        assert not wrong, "\n".join(wrong)


def test_a_role_without_bulk_actions_sees_the_rows_of_keys_and_invites(console):
    for role in ("auditor", "developer"):
        other = console.as_operator(role)
        for tab in ("keys", "invites"):
            page = other.go(f"/console/t/demo/{tab}")
            expect(page.locator("tbody tr").first).to_be_visible()
            expect(page.locator("main [data-state=error]")).to_have_count(0)
        other.check_silence()
        other.close()


def test_a_role_that_may_not_create_keys_is_told_so_before_the_form(console):
    other = console.as_operator("auditor")
    page = other.go("/console/t/demo/keys/new")
    expect(page.locator("[data-state=forbidden]")).to_contain_text("writeKeys")
    expect(page.locator("form")).to_have_count(0)
    other.check_silence()
    other.close()


def test_the_overview_of_a_tenants_admin_is_in_the_navigation_and_speaks_of_that_tenant(console):
    demo = console.api("GET", "/tenants/demo")["id"]
    own = console.as_operator("admin", demo)
    page = own.go("/console/")
    expect(page.locator(".nav").get_by_role("link", name="Overview")).to_have_attribute("aria-current", "page")
    expect(page.locator("main").get_by_role("link", name="Open a tenant")).to_have_count(0)
    page.locator("main").get_by_role("link", name="Invite people").click()
    expect(page.get_by_role("button", name="Invite", exact=True)).to_be_visible()
    own.check_silence()
    own.close()
