"""What a tenant's pages wear: set in its settings, seen by who is invited and who signs in."""
import struct
import zlib

from playwright.sync_api import expect


def png(width, height, rgb):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes(rgb) * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"tEXt", b"Author\0Ann")
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def test_name_colour_and_logo_are_set_and_shown_on_the_pages(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/settings")
    page.get_by_label("Name on the pages").fill("Rocket Bank")
    page.get_by_label("Colour of the buttons").fill("#FFD400")
    page.locator(".card", has_text="Appearance").get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".sample")).to_contain_text("Rocket Bank")
    assert page.locator(".sample").evaluate("(one) => getComputedStyle(one).backgroundColor") == "rgb(255, 212, 0)"
    page.locator("input[type=file]").set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": png(64, 32, (200, 30, 60))})
    logo = page.locator(".sample img")
    expect(logo).to_be_visible()
    assert logo.evaluate("(one) => one.decode().then(() => one.naturalWidth)") == 64
    console.expects_refusals = True
    page.locator("input[type=file]").set_input_files({"name": "x.svg", "mimeType": "image/svg+xml", "buffer": b"<svg viewBox='0 0 1 1'><script/></svg>"})
    expect(page.locator(".toast").last).to_contain_text("script")

    made = console.api("POST", f"/tenants/{one['id']}/invites", {"email": "ann@acme.example", "delivery": "link"})
    console.context.clear_cookies()
    page = console.go(made["accept_url"].replace(console.base, ""))
    expect(page.locator("h1")).to_have_text("Join Rocket Bank")
    expect(page.locator(".wall img")).to_be_visible()
    colours = page.locator(".primary").evaluate("(one) => [getComputedStyle(one).backgroundColor, getComputedStyle(one).color]")
    assert colours == ["rgb(255, 212, 0)", "rgb(0, 0, 0)"]

    page.goto(f"{console.base}/t/{one['slug']}/sign-in")
    expect(page.locator("main")).to_contain_text("Rocket Bank")
    expect(page.locator(".logo")).to_be_visible()
    expect(page.locator("footer")).to_contain_text(one["slug"])


def test_the_logo_is_removed_again(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/settings")
    page.locator("input[type=file]").set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": png(8, 8, (0, 0, 0))})
    page.get_by_role("button", name="Remove the logo").click()
    dialog = page.get_by_role("dialog", name="Remove the logo?")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    expect(page.locator(".sample img")).to_be_visible()
    dialog.get_by_role("button", name="Remove the logo").click()
    expect(page.get_by_role("button", name="Choose a logo")).to_be_visible()
    expect(page.locator(".sample img")).to_have_count(0)
