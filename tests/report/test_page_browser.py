"""The report in a real browser: offline, quiet, drawn, on phone and desktop, light and dark, and on paper."""

import re
from pathlib import Path

import numpy as np
import pytest
from browser import DESKTOP, PHONE, chromium, overflows, picture, slides_by_itself, until, watch
from synthetic_runs import rising, synthetic_run

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
    """More questions than are shown unfolded; one model has learned its task, the others have not."""
    folder = tmp_path_factory.mktemp("long")
    for modulus in range(2, 8):
        config, learned = (
            {"task": f"add%{modulus}", "train": "D2", "test": "D1..3"},
            rising(0 if modulus == 2 else 150),
        )
        synthetic_run(folder, config, name=f"p{modulus}", learned=learned)
    Report.of([folder]).write(folder / "report.html")
    return folder / "report.html"


def opened(browser, path, size=DESKTOP, scheme="light"):
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
    page = context.new_page()
    seen = watch(page)
    page.goto(path.as_uri())
    return page, seen


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_every_plot_is_drawn_offline_without_a_sound(browser, report, size, scheme):
    page, seen = opened(browser, report, size, scheme)
    plots = page.locator(".plot")
    for k in range(plots.count()):
        plots.nth(k).scroll_into_view_if_needed()
        until(page, f"document.querySelectorAll('.plot')[{k}].querySelector('.main-svg, td') !== null")
        assert plots.nth(k).locator(".point, .trace, td").count() > 0
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
    until(page, "typeof Plotly !== 'undefined'")
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    until(page, "[...document.querySelectorAll('figure details')].every((part) => part.querySelector('td'))")
    # A heat map is its table of numbers; every other plot has them folded below it.
    assert page.locator("figure:has(.heat)").count() > 0
    assert page.locator("figure:has(.heat) details").count() == 0
    assert page.locator("figure:not(:has(.heat)):not(:has(> details))").count() == 0
    assert not overflows(page)
    slides_by_itself(page.locator(".scroll:has(.verdicts)").last, arrow)
    heat_map = page.locator("figure", has_text="Accuracy through training").last.locator(".heat")
    heat_map.scroll_into_view_if_needed()
    slides_by_itself(heat_map.locator(".scroll"), arrow)
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_heat_map_has_its_numbers_in_cells_that_darken_with_them(browser, report, scheme):
    page, _ = opened(browser, report, scheme=scheme)
    table = page.locator(".heat table").first
    page.locator(".heat").first.scroll_into_view_if_needed()
    until(page, "document.querySelector('.heat td') !== null")
    cells = table.locator("td").evaluate_all(
        "cells => cells.map((cell) => [Number(cell.textContent), getComputedStyle(cell).backgroundColor])"
    )
    shades = {share: np.array(re.findall(r"[\d.]+", colour)[:3], float) for share, colour in cells}
    low, high = shades[min(shades)], shades[max(shades)]
    assert min(shades) < 10 and max(shades) > 90 and abs(high - low).max() > 0.2
    ordered = [abs(shade - low).sum() for _, shade in sorted(shades.items())]
    assert ordered == sorted(ordered)
    page.context.close()


def shown_rows(page):
    return [row.inner_text() for row in page.locator(".verdicts tbody th").all() if row.is_visible()]


def test_the_filter_leaves_the_rows_and_questions_that_match_by_keyboard(browser, long_report):
    page, seen = opened(browser, long_report)
    questions = page.locator("details.question:visible")
    assert len(shown_rows(page)) == 6 == questions.count()
    page.get_by_label("Find").focus()
    page.keyboard.type("ADD%3 learned")
    (row,) = shown_rows(page)
    assert row.startswith("add%3 D2, learned") and questions.count() == 1
    assert page.locator(".filter output").inner_text() == "1 of 6 rows"
    page.keyboard.press("Tab")
    page.keyboard.type("add%5")
    assert shown_rows(page) == [] and questions.count() == 0
    assert page.locator(".filter output").inner_text() == "none of 6 rows"
    page.get_by_role("button", name="Show all").focus()
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('.verdicts tbody tr:not([hidden])').length === 6")
    page.locator("select[name=verdict]").select_option("holds")
    (row,) = shown_rows(page)
    assert row.startswith("add%2 D2")
    seen.assert_quiet()
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
    assert page.evaluate("[...document.querySelectorAll('.plot')].every((p) => p.querySelector('.main-svg, td'))")
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
    until(page, "document.querySelectorAll('.plot :is(.main-svg, td)').length >= 6")
    page.evaluate("scrollTo(0, 0)")
    picture(page, name)
    seen.assert_quiet()
    page.context.close()
