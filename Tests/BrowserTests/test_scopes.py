"""What an operator of one tenant is told about that tenant."""
import contextlib
import re

from playwright.sync_api import expect
from test_focus import check_by_axe


def test_the_own_account_names_the_tenant_that_it_is_for(console):
    one = console.tenant("Harbour Works")
    with contextlib.closing(console.as_operator("support", one["id"])) as other:
        page = other.go("/console/me")
        expect(page.locator("main dd").get_by_role("link", name="Harbour Works")).to_have_attribute("href", re.compile("/users$"))
        check_by_axe(page)
        other.check_silence()
