"""How fast lengthwise explore is here: until a first prediction is visible, and for each prediction after it.

Needs Chromium (scripts/install_chromium.sh). docs/explorer.md shows what it printed.
"""

import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

import httpx
from playwright.sync_api import Page, sync_playwright

QUESTIONS = {
    "addition, learned": {},
    "addition, coupled": {"encoding": "coupled"},
    "addition modulo 101": {"modulus": "101"},
    "multiplication modulo 101": {"operation": "mul", "modulus": "101"},
    "multiplication modulo 149": {"operation": "mul", "modulus": "149"},
    "multiplication modulo 144": {"operation": "mul", "modulus": "144"},
}
REPEATS = 20


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto("about:blank")
        time_start(page)
        browser.close()


def time_start(page: Page) -> None:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "lengthwise.cli", "explore", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+/", server.stdout.readline())
        assert found is not None
        serving = time.perf_counter()
        page.goto(found[0], wait_until="commit")
        page.locator("#learned .headline").wait_for()
        page.locator("#accuracy .bar").first.wait_for()
        visible = time.perf_counter()
        print(f"from the command to its address           {1000 * (serving - begun):6.0f} ms")
        print(f"from there to a prediction seen on a page {1000 * (visible - serving):6.0f} ms")
        time_predictions(found[0])
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def time_predictions(address: str) -> None:
    """The whole request, nine lengths each: median and worst."""
    with httpx.Client(base_url=address) as client:
        for name, question in QUESTIONS.items():
            times = []
            for _ in range(REPEATS):
                start = time.perf_counter()
                client.get("/api/predict", params=question).raise_for_status()
                times.append(1000 * (time.perf_counter() - start))
            print(f"{name:<41} {statistics.median(times):6.1f} ms, at most {max(times):.1f} ms")


if __name__ == "__main__":
    main()
