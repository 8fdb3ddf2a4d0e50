"""How fast lengthwise explore is here: a first prediction on a page, those after it, and the list of packed runs.

Needs Chromium (scripts/install_chromium.sh). docs/explorer.md shows what it printed.
"""

import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

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
RESULTS = Path(__file__).parent.parent / "results"
LISTINGS = 100
SEARCHES = {"coupled-1000": "1 question", "seed 101": "questions", "": "questions"}


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto("about:blank")
        time_start(page)
        browser.close()


def time_start(page: Page) -> None:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "lengthwise", "explore", "--no-browser", "--port", "0"]
    command += ["--runs", str(RESULTS)]
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
        time_runs(page, found[0])
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def time_predictions(address: str) -> None:
    """The whole request, nine lengths each: median and worst."""
    with httpx.Client(base_url=address) as client:
        for name, question in QUESTIONS.items():
            ask = partial(client.get, "/api/predict", params=question)
            times = [timed(ask) for _ in range(REPEATS)]
            print(f"{name:<41} {statistics.median(times):6.1f} ms, at most {max(times):.1f} ms")


def time_runs(page: Page, address: str) -> None:
    """The list, by itself and as a reader waits for it; last how soon a search is answered on the page."""
    page.goto("about:blank")
    with httpx.Client(base_url=address) as client:
        runs = len(client.get("/api/runs").json()["runs"])
        times = sorted(timed(lambda: client.get("/api/runs")) for _ in range(LISTINGS))
    p95 = times[int(0.95 * LISTINGS)]
    print(f"list of {runs} runs                          {statistics.median(times):6.1f} ms, p95 {p95:.1f} ms")
    page.goto(f"{address}#runs", wait_until="commit")
    shown = timed(page.locator("#run-count").get_by_text(f"{runs} runs").wait_for)
    print(f"from its address to that list on a page   {shown:6.0f} ms")
    print(f"until all of them have their verdict      {timed(lambda: all_judged(page)):6.0f} ms")
    for text, found in SEARCHES.items():
        print(f"{f'search for {text!r}':<41} {timed(partial(search, page, text, found)):6.0f} ms")


def search(page: Page, text: str, found: str) -> None:
    page.get_by_label("Search").fill(text)
    page.locator("#run-count").get_by_text(found).wait_for()


def all_judged(page: Page) -> None:
    while "not judged yet" in page.locator("#run-count").inner_text():
        page.wait_for_timeout(20)


def timed(action: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
