"""What the first view costs: bytes, requests, FCP, LCP, CLS, cold. vitals.py URL LINK_TOKEN [TENANT WORD]

With a tenant and a word it also times finding a user: from the last letter to the drawn row.
"""
import statistics
import sys

from playwright.sync_api import sync_playwright

PAINTS = """() => new Promise((done) => {
    const seen = {cls: 0};
    new PerformanceObserver((list) => list.getEntries().forEach((one) => (seen.lcp = one.startTime))).observe({type: "largest-contentful-paint", buffered: true});
    new PerformanceObserver((list) => list.getEntries().forEach((one) => (seen.cls += one.hadRecentInput ? 0 : one.value))).observe({type: "layout-shift", buffered: true});
    setTimeout(() => { seen.fcp = performance.getEntriesByName("first-contentful-paint")[0]?.startTime; done(seen); }, 100);
})"""


def main(base, token, tenant=None, word=None):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        first = browser.new_context()
        page = first.new_page()
        page.goto(f"{base}/console/sign-in#token={token}")
        page.get_by_role("button", name="Continue").click()
        page.wait_for_url(f"{base}/console/")
        cookies = first.cookies()
        rounds = []
        for _ in range(5):
            context = browser.new_context()
            context.add_cookies(cookies)
            page = context.new_page()
            weights = []
            page.on("requestfinished", lambda one: weights.append(one.sizes()["responseBodySize"]))
            page.goto(f"{base}/console/")
            page.wait_for_load_state("networkidle")
            rounds.append({**page.evaluate(PAINTS), "requests": len(weights), "bytes": sum(weights)})
            context.close()
        print("first view, medians of 5 cold loads:")
        for name, unit in (("bytes", "over the wire"), ("requests", ""), ("fcp", "ms"), ("lcp", "ms"), ("cls", "")):
            print(f"  {name:9}{statistics.median(one[name] for one in rounds):>8.0f} {unit}")
        if tenant:
            page = first.new_page()
            page.goto(f"{base}/console/t/{tenant}/users")
            box = page.get_by_role("searchbox").first
            took = []
            for _ in range(5):
                box.fill("")
                page.wait_for_load_state("networkidle")
                before = page.evaluate("performance.now()")
                box.press_sequentially(word, delay=20)
                page.locator("tbody tr", has_text=word).first.wait_for()
                took.append(page.evaluate("performance.now()") - before)
            print(f"  find one  {statistics.median(took):.0f} ms with typing")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
