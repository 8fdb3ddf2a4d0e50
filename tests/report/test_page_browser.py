"""The report in a real browser: offline, quiet, drawn, on phone and desktop, light and dark, and on paper."""

from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, chromium, overflows, picture, slides_by_itself, until, watch
from synthetic_runs import synthetic_run

from lengthwise.report.page import Report

ROOT = Path(__file__).parent.parent.parent
DRAWN = "document.querySelectorAll('.plot .main-svg').length > 0"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """Several seeds, a second question, and the records of real runs."""
    folder = tmp_path_factory.mktemp("report")
    config = {"task": "add", "train": "D2", "test": "D1..4", "base": 4, "evaluation": {"digits": True}}
    for seed in (1, 2):
        synthetic_run(
            folder, config | {"seed": seed}, name=f"s{seed}", follows=lambda d: 1 if d.length < 4 else 0.9
        )
    Report.of([folder, ROOT / "results" / "readme.json"]).write(folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def long_report(tmp_path_factory) -> Path:
    """More questions than are shown unfolded."""
    folder = tmp_path_factory.mktemp("long")
    for modulus in range(2, 8):
        synthetic_run(folder, {"task": f"add%{modulus}", "train": "D2", "test": "D1..3"}, name=f"p{modulus}")
    Report.of([folder]).write(folder / "report.html")
    return folder / "report.html"


def opened(browser, path, size=DESKTOP, scheme="light"):
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
    page = context.new_page()
    seen = watch(page)
    page.goto(path.as_uri())
    return page, seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_every_plot_is_drawn_offline_without_a_sound(browser, report, size, scheme):
    page, seen = opened(browser, report, size, scheme)
    plots = page.locator(".plot")
    for k in range(plots.count()):
        plots.nth(k).scroll_into_view_if_needed()
        until(page, f"document.getElementById('plot-{k}').querySelector('.main-svg') !== null")
        assert plots.nth(k).locator(".point, .hm, .trace").count() > 0
    assert not overflows(page)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 22, 28)"
    assert dark == (scheme == "dark")
    seen.assert_quiet()
    page.context.close()


def test_a_legend_hides_a_curve_by_keyboard(browser, report):
    page, seen = opened(browser, report)
    figure = page.locator("figure").first
    figure.scroll_into_view_if_needed()
    until(page, DRAWN)
    before = figure.locator(".scatterlayer .trace").count()
    button = figure.locator(".legend button").first
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    until(
        page, f"document.querySelector('figure').querySelectorAll('.scatterlayer .trace').length == {before - 1}"
    )
    seen.assert_quiet()
    page.context.close()


def test_of_many_questions_the_first_is_open_and_the_others_draw_when_a_link_unfolds_them(browser, long_report):
    page, seen = opened(browser, long_report)
    until(page, "typeof Plotly !== 'undefined'")
    asked = page.locator("details.question")
    assert [question.get_attribute("open") for question in asked.all()] == ["", *[None] * 5]
    assert asked.last.locator(".main-svg").count() == 0
    page.locator(".verdicts a").last.click()
    until(page, "document.querySelector('details.question:last-of-type .main-svg') !== null")
    assert page.locator("details.question[open]").count() == 2
    seen.assert_quiet()
    page.context.close()


@pytest.mark.parametrize(("scheme", "arrow"), [("light", (0x00, 0x57, 0x8A)), ("dark", (0x7C, 0xC4, 0xF2))])
def test_on_a_phone_wide_tables_slide_and_the_page_does_not(browser, report, scheme, arrow):
    page, seen = opened(browser, report, PHONE, scheme)
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    until(page, "[...document.querySelectorAll('[data-numbers]')].every((part) => part.querySelector('td'))")
    assert not overflows(page)
    slides_by_itself(page.locator(".scroll:has(.verdicts)").last, arrow)
    slides_by_itself(page.locator("figure .scroll").nth(2), arrow)
    seen.assert_quiet()
    page.context.close()


def test_a_table_that_fits_has_no_arrow(browser, report):
    page, _ = opened(browser, report)
    box = page.locator(".scroll:has(.verdicts)").first
    assert box.evaluate("box => box.scrollWidth == box.clientWidth")
    before = box.screenshot()
    page.add_style_tag(content=".scroll::before { color: red !important }")
    assert box.screenshot() == before
    page.context.close()


def test_numbers_unfold_beside_a_plot(browser, report):
    page, _ = opened(browser, report, PHONE)
    numbers = page.locator("figure details").first
    assert not numbers.locator("table").is_visible()
    numbers.locator("summary").click()
    until(page, "document.querySelector('figure details td') !== null")
    assert numbers.locator("table").is_visible() and not overflows(page)
    page.context.close()


def test_paper_is_light_and_has_every_plot_that_is_unfolded(browser, report):
    page, seen = opened(browser, report, DESKTOP, "dark")
    until(page, "typeof Plotly !== 'undefined'")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("[...document.querySelectorAll('.plot')].every((p) => p.querySelector('.main-svg'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 22, 28)"
    seen.assert_quiet()
    page.context.close()


@pytest.mark.parametrize(("name", "width", "scheme"), [("report", 1280, "light"), ("report-phone", 375, "dark")])
def test_the_plots_of_the_docs(browser, tmp_path, name, width, scheme):
    """The README's own runs, as the docs show them."""
    path = tmp_path / "report.html"
    Report.of([ROOT / "results" / "readme.json"]).write(path)
    page, seen = opened(browser, path, {"width": width, "height": 1900}, scheme)
    page.locator("figure").nth(1).scroll_into_view_if_needed()
    until(page, "document.querySelectorAll('.plot .main-svg').length >= 6")
    page.evaluate("scrollTo(0, 0)")
    picture(page, name)
    seen.assert_quiet()
    page.context.close()
