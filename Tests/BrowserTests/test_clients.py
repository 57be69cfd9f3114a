"""The settings of the apps' clients: a labelled form for each contract."""
import re

from playwright.sync_api import expect
from test_keyboard import button, choose, press, reach

# A label of each contract, what is typed or chosen there, and how it is sent.
OWN = {
    "relate": ("Scopes that the apps ask for", "openid email", {"oidc_scope": "openid email"}),
    "immich": ("Text of the provider's button", "Staff", {"button_text": "Staff", "password_login": True, "admin_sign_up": False, "single_label_email": False}),
    "timetracker": ("Address of its web page", "https://time.acme.example", {"app_url": "https://time.acme.example"}),
    "thinkwork": (None, None, {"password": False}),
    "deeprecall": ("Audience of the replication token", "sync", {"replication_audience": "sync"}),
}


def settings(console, tenant, name):
    return next(one for one in console.api("GET", f"/tenants/{tenant['id']}/clients")["items"] if one["name"] == name)["settings"]


def opened(console, tenant, name):
    page = console.page
    row = page.get_by_role("row", name=re.compile(name))
    # One that is switched off has “Switch on” in sight.
    console.more(row, "Edit") if row.get_by_role("button", name="Edit").count() == 0 else row.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("dialog", name=f"Settings of {name}")).to_be_visible()
    return page


def test_each_contract_has_its_own_fields_and_what_is_left_empty_is_left_out(console):
    one = console.tenant()
    console.go(f"/console/t/{one['slug']}/clients")
    for name, (label, text, sent) in OWN.items():
        page = opened(console, one, name)
        console.field("Seconds that a session lasts").fill("3600")
        if label:
            console.field(label).fill(text)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert settings(console, one, name) == {"token_seconds": 3600, **sent}, name
        opened(console, one, name)
        expect(console.field("Seconds that a session lasts")).to_have_value("3600")
        if label:
            expect(console.field(label)).to_have_value(text)
        page.keyboard.press("Escape")


def test_a_mail_server_without_its_ports_is_refused_at_its_fields_and_kept(console):
    console.expects_refusals = True
    one = console.tenant()
    console.go(f"/console/t/{one['slug']}/clients")
    page = opened(console, one, "relate")
    console.field("SMTP server").fill("mail.acme.example")
    console.field("SMTP port").fill("70000")
    page.get_by_role("button", name="Save").click()
    for label in ("SMTP port", "SMTP port by TLS"):
        expect(console.field(label)).to_have_attribute("aria-invalid", "true")
    expect(console.field("SMTP port")).to_be_focused()
    expect(console.field("SMTP server")).to_have_value("mail.acme.example")
    console.field("SMTP port").fill("25")
    console.field("SMTP port by TLS").fill("465")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert settings(console, one, "relate") == {"smtp": {"server": "mail.acme.example", "port": 25, "secure_port": 465}}


def test_a_provider_is_chosen_by_its_name_and_a_host_by_keyboard_alone(console):
    one = console.tenant()
    made = console.api("POST", "/providers", {"kind": "oidc", "name": "Staff door", "issuer": f"https://{one['slug']}.example", "client_id": "x", "tenant": one["slug"]})
    page = console.go(f"/console/t/{one['slug']}/clients")
    choose(page, page.get_by_role("row", name=re.compile("immich")), "Edit")
    expect(page.get_by_role("dialog")).to_be_visible()
    reach(page, console.field("Hosts of its own"))
    page.keyboard.type("photos.acme.example")
    reach(page, console.field("Provider that people sign in at"))
    page.keyboard.type("Staff")
    reach(page, console.field("Generation of the apps"))
    page.keyboard.type("v2")
    press(page, console.field("The first person may become the admin, once"), "Space")
    press(page, button(page, "Save"))
    expect(page.get_by_role("row", name=re.compile("immich"))).to_contain_text("photos.acme.example")
    now = settings(console, one, "immich")
    assert (now["provider"], now["compat"], now["admin_sign_up"]) == (made["id"], "v2", True), now
