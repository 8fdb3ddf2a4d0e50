"""A real browser for tests of pages: the system's Chromium, watched for errors and for requests that leave."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

IMAGES = Path(__file__).parent.parent / "docs" / "images"

PHONE = {"width": 375, "height": 740}
DESKTOP = {"width": 1280, "height": 900}

HERE = {"127.0.0.1", "localhost", "::1"}
WITHIN_THE_PAGE = {"file", "data", "blob", "about"}


def chromium_path() -> str:
    """Where Chromium is. A machine without it skips the test, except where tests must all run."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        missing = "no Chromium here: scripts/install_chromium.sh installs it"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    return path


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Watch:
    """What went wrong on a page: messages of errors, and addresses outside this machine that it asked for."""

    errors: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def assert_quiet(self) -> None:
        assert not self.errors, self.errors
        assert not self.left, self.left


def watch(page: Page) -> Watch:
    seen = Watch()
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda message: seen.errors.append(message.text) if message.type == "error" else None)

    def note(address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in WITHIN_THE_PAGE and parts.hostname not in HERE:
            seen.left.append(address)

    page.on("request", lambda request: note(request.url))
    return seen


def overflows(page: Page) -> bool:
    """Whether the page must be scrolled sideways: a narrow screen should never need that."""
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def slides_by_itself(box: Locator, arrow: tuple[int, int, int]) -> None:
    """A table wider than its box: an arrow says so until its end is in view, and its first column stays."""
    box.scroll_into_view_if_needed()
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    assert _arrow_seen(box, arrow)
    box.evaluate("box => (box.scrollLeft = box.scrollWidth)")
    assert not _arrow_seen(box, arrow)
    place = box.bounding_box()
    row = box.locator("tbody tr").first
    first, last = row.locator("th").bounding_box(), row.locator("td").last.bounding_box()
    assert abs(first["x"] - place["x"]) < 5
    assert last["x"] + last["width"] <= place["x"] + place["width"]


def _arrow_seen(box: Locator, colour: tuple[int, int, int]) -> bool:
    """Whether pixels of this colour stand at the right end of the first row."""
    place = box.bounding_box()
    clip = {"x": place["x"] + place["width"] - 20, "y": place["y"], "width": 20, "height": 36}
    pixels = np.asarray(Image.open(BytesIO(box.page.screenshot(clip=clip))).convert("RGB")).astype(int)
    return bool((abs(pixels - colour).max(-1) < 25).any())


def until(page: Page, expression: str, seconds: float = 30) -> None:
    """Wait for what a script says; playwright's own wait needs an eval, which the pages' policy forbids."""
    for _ in range(int(50 * seconds)):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"not within {seconds} s: {expression}")


def picture(page: Page, name: str, *, full_page: bool = False) -> None:
    """Take a screenshot for the docs; only when asked for, as `LENGTHWISE_SCREENSHOTS=1 pytest ...`."""
    if os.environ.get("LENGTHWISE_SCREENSHOTS"):
        IMAGES.mkdir(exist_ok=True)
        page.screenshot(path=IMAGES / f"{name}.png", full_page=full_page)
