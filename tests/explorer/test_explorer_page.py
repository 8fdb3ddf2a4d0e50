"""The page in a real browser: each part used as a person would, errors included. Makes the docs' screenshots."""

import itertools
import json
import os
import re
from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, chromium, overflows, slides_by_itself, watch
from playwright.sync_api import Browser, Locator, Page, expect
from serving import serving

from lengthwise.theory.encodings import LAYOUT_FACTS

# A loaded machine is not a failure.
expect.set_options(timeout=30_000)

ROOT = Path(__file__).parent.parent.parent
IMAGES = ROOT / "docs" / "images"
SCREENS = [
    pytest.param(size, scheme, id=f"{name}-{scheme}")
    for name, size in (("phone", PHONE), ("desktop", DESKTOP))
    for scheme in ("light", "dark")
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def results_server():
    with serving("--runs", str(ROOT / "results")) as running:
        yield running


@pytest.fixture
def opened(browser: Browser, server):
    """Opens the page at an address, and sees to it that nothing went wrong on it."""
    contexts = []

    def open_page(address: str = "", size=DESKTOP, scheme="light", at=server) -> Page:
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        page = context.new_page()
        contexts.append((context, page, watch(page)))
        page.goto(at.address + address)
        return page

    yield open_page
    for context, page, seen in contexts:
        seen.assert_quiet()
        assert not overflows(page)
        context.close()


def picture(page: Page, part: str, size: dict, scheme: str) -> None:
    """The screenshot of the docs, drawn anew where LENGTHWISE_SCREENSHOTS is set: machines differ in pixels."""
    name = f"explore-{part}-{'phone' if size == PHONE else 'desktop'}-{scheme}.png"
    if name not in (ROOT / "docs" / "explorer.md").read_text():
        return
    if os.environ.get("LENGTHWISE_SCREENSHOTS"):
        IMAGES.mkdir(exist_ok=True)
        page.evaluate("scrollTo(0, 0)")  # else the page's header stands in the middle of the picture
        page.screenshot(path=IMAGES / name, full_page=True)
    assert (IMAGES / name).exists(), "run this test with LENGTHWISE_SCREENSHOTS=1"


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_predict_at_every_width_and_in_both_colours(opened, size, scheme):
    page = opened(size=size, scheme=scheme)
    learned = page.locator("#learned")
    expect(learned).to_contain_text("only the last 4 digits")
    expect(learned).to_contain_text("Theorem 1")
    expect(page.locator("#accuracy .column")).to_have_count(9)
    expect(page.locator("#example")).to_contain_text("it will say")
    assert page.locator("#example .sum .wrong").all_inner_texts() == ["·", "·", "·"]
    assert page.locator("#accuracy .value").all_text_contents() == ["100"] * 4 + ["0"] * 5
    picture(page, "predict", size, scheme)


@pytest.fixture(scope="module")
def sum_asked(server) -> tuple[str, str, int]:
    """Two numbers longer than the shipped model of addition was trained on, and how many digits that were."""
    with server.client() as client:
        (model,) = (m for m in client.get("/api/models").json()["models"] if m["name"] == "addition")
    (_, trained), _ = model["trained_lengths"]
    assert (model["base"], model["task"]) == (10, "add") and model["operand_digits"] >= trained + 2
    return "123456789123"[: trained + 2], "567891234567"[: trained + 2], trained


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_ask_at_every_width_and_in_both_colours(opened, sum_asked, size, scheme):
    a, b, _ = sum_asked
    page = opened(f"#ask?model=addition&a={a}&b={b}", size, scheme)
    expect(page.locator("#answer-verdict")).to_have_text(
        "✗ Wrong, and exactly as theory predicted.", timeout=30_000
    )
    expect(page.locator("#inside")).to_contain_text("It depends on")
    expect(page.locator("#inside")).to_contain_text("It attends to")
    picture(page, "ask", size, scheme)


def question(page: Page, text: str) -> Locator:
    """The line of a question in the list of runs, which folds and unfolds it."""
    return page.locator("#run-list summary", has_text=text)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_runs_at_every_width_and_in_both_colours(opened, results_server, size, scheme):
    """On the repository's own results, three seeds of one encoding beside three of another."""
    page = opened("#runs?recipe=table1&task=add", size, scheme, at=results_server)
    expect(page.locator(".run-item.seed input:checked")).to_have_count(3)
    question(page, "learned positions, padded layout").click()
    page.get_by_label("all 3 seeds of table1-learned-add", exact=True).check()
    expect(page.locator("#run-results .lines path")).to_have_count(12)
    expect(page.locator("#run-results .pill", has_text="holds 3/3").first).to_be_visible()
    expect(page.locator("#run-results table")).to_have_count(2)
    expect(page.locator("#run-count")).not_to_contain_text("not judged yet")
    if size == PHONE and scheme == "light":
        slides_by_itself(page.locator("#run-results .scroll").first, arrow=(0x1D, 0x5F, 0xB4))
        page.locator("#run-results .scroll").first.evaluate("box => (box.scrollLeft = 0)")
        page.evaluate("scrollTo(0, 0)")
    picture(page, "runs", size, scheme)


def test_what_is_typed_changes_the_prediction_at_once(opened):
    page = opened()
    page.get_by_label("modulo").fill("100")
    expect(page.locator("#learned")).to_contain_text("which is all it needs")
    page.get_by_label("modulo").fill("151")
    page.get_by_text("More choices").click()
    page.get_by_label("tested on").fill("B4..9")
    expect(page.locator("#accuracy .column")).to_have_count(6)
    bar = page.locator("#accuracy .column").nth(2)
    bar.focus()
    expect(page.locator("#accuracy .readout")).to_have_text(
        re.compile(
            r"B6: predicted accuracy 0.593 %, exactly 4/675. The paper’s approximation: 0.662252 %. Measured: \d+"
        )
    )
    assert "modulus=151" in page.url and "test=B4..9" in page.url
    page.reload()
    expect(page.locator("#accuracy .column")).to_have_count(6)
    page.get_by_label("positions encoded as").select_option("none")
    expect(page.locator("#learned")).to_contain_text("no prediction")


def test_what_was_measured_stands_beside_a_prediction(opened):
    page = opened("#predict?operation=mul&modulus=100&train=D3")
    measured = page.locator("#learned .pill", has_text="measured")
    expect(measured).to_have_text(re.compile(r"measured: (\d+) of \1 hold"))
    expect(measured).to_have_class(re.compile("yes"))
    page = opened()
    page.get_by_label("positions encoded as").select_option("alibi")
    expect(page.locator("#learned .pill.no")).to_have_text(re.compile(r"measured: 0 of \d+ hold"))
    expect(page.locator("#learned")).to_contain_text("the prediction holds in 0 of")
    page.get_by_text("As a table").click()
    cells = page.locator("#accuracy tbody tr").last.locator("td")
    expect(cells.last).to_have_text(re.compile(r"0 of \d+ hold"))
    as_table = page.locator("#accuracy .as-table")
    expect(as_table).to_contain_text("windowed:5: it will compute each digit from only 5")


def test_a_link_followed_while_another_part_opens_is_not_lost(opened):
    """A part that opens writes its own address: here it does so before the event of the link has come."""
    page = opened()
    page.evaluate("location.hash = '#ask'; history.replaceState(null, '', '#predict')")
    expect(page.locator("#part-ask")).to_be_visible()


def test_almost_always_right_looks_unlike_always_right(opened):
    page = opened("#predict?encoding=coupled&train=D4")
    bars, values = page.locator("#accuracy .column .bar"), page.locator("#accuracy .value")
    expect(bars).to_have_count(9)
    heights = "all => all.map(bar => Math.round(Number(bar.getAttribute('height'))))"
    assert len(set(bars.evaluate_all(heights))) == 1
    assert page.locator("#accuracy .axis-title").all_text_contents() == [
        "right answers (%)",
        "digits of the longer number",
    ]
    page.get_by_text("wrong, log scale").click()
    expect(page.locator("#accuracy .axis-title").first).to_have_text("wrong answers (log scale)")
    within, longer = bars.evaluate_all(heights)[:4], bars.evaluate_all(heights)[4:]
    assert within == [0] * 4 and longer == sorted(longer) and longer[0] > 10
    assert values.all_text_contents()[:6] == [*"0000", "1 in", "22,000"]
    page.locator("#accuracy .column").nth(4).hover()
    expect(page.locator("#accuracy .readout")).to_contain_text(
        "99.995 %, exactly 21999/22000. Wrong: 1 in 22,000."
    )
    page.get_by_label("modulo").fill("151")
    expect(page.locator("#accuracy .axis-title").first).to_have_text("wrong answers (log scale)")


def test_all_layouts_can_be_chosen(opened):
    options = opened().locator("#layout option").evaluate_all("all => all.map(option => option.value)")
    assert set(options) == {"", *LAYOUT_FACTS}


def test_numbers_above_bars_never_touch(opened):
    page = opened("#predict?operation=mul&modulus=151&test=B4..9", PHONE)
    expect(page.locator("#accuracy .column")).to_have_count(6)
    boxes = [value.bounding_box() for value in page.locator("#accuracy .value").all()]
    assert boxes
    for left, right in itertools.pairwise(boxes):
        assert right["x"] - left["x"] - left["width"] > 3


def test_a_story_and_another_example(opened):
    page = opened()
    story = page.get_by_role("button", name="In theory addition generalizes")
    story.click()
    expect(page.locator("#learned")).to_contain_text("except where a carry travels")
    expect(story).to_have_attribute("aria-pressed", "true")
    before = page.locator("#example").inner_text()
    page.get_by_role("button", name="Another example").click()
    expect(page.locator("#example")).not_to_have_text(re.compile(re.escape(before)))
    page.get_by_label("Your own first number").fill("999999")
    page.get_by_label("and second").fill("1")
    expect(page.locator("#example td[aria-label='1000000']")).to_be_visible()
    expect(page.locator("#example td[aria-label='900000']")).to_be_visible()


@pytest.mark.parametrize(
    ("label", "typed", "error"),
    [
        ("modulo", "ten", "is not a whole number from 1 to"),
        ("in base", "37", "from 2 to 36"),
        ("trained on", "D4x", "cannot read 'D4x'"),
        ("trained on", "D500", "up to 100 digits"),
        ("and second", "12x", "type a number here"),
    ],
)
def test_bad_input_is_explained_where_it_was_typed(opened, label, typed, error):
    page = opened()
    expect(page.locator("#learned")).to_contain_text("last 4 digits")
    field = page.get_by_label(label, exact=True)
    good = field.input_value()
    field.fill(typed)
    told = page.locator(".field-error", has_text=error)
    expect(told).to_be_visible()
    expect(page.locator("[aria-invalid]")).to_have_count(1)
    field.fill(good)
    expect(told).to_have_count(0)
    expect(page.locator("#learned")).to_contain_text("last 4 digits")


def test_long_counting_says_that_it_works_and_gives_way_to_new_input(opened):
    page = opened("#predict?operation=mul&modulus=19997")
    expect(page.locator("#learned")).to_contain_text("last 4 digits")
    expect(page.locator("#accuracy")).to_contain_text("Counting exactly")
    expect(page.locator("#accuracy")).to_contain_text("s so far")
    page.get_by_label("modulo").fill("101")
    expect(page.locator("#accuracy .column")).to_have_count(9)


def test_an_answer_is_looked_into_digit_by_digit(opened, sum_asked):
    a, b, trained = sum_asked
    page = opened(f"#ask?model=addition&a={a}&b={b}")
    expect(page.locator("#answer-verdict")).to_contain_text("as theory predicted")
    digits = page.locator(".answer-digit")
    assert int("".join(digits.all_inner_texts())) == int(a[-trained:]) + int(b[-trained:])
    expect(page.locator("#inside h3", has_text="It depends on")).to_be_visible(timeout=30_000)
    depends = page.locator("#inside .tokens").first
    digits.last.hover()
    expect(depends.get_by_label(f"digit 1 of the first number, {a[-1]}: 100 %")).to_be_visible()
    expect(depends.get_by_label(f"digit 2 of the first number, {a[-2]}: 0 %")).to_be_visible()
    digits.nth(-2).focus()
    expect(depends.get_by_label(f"digit 2 of the first number, {a[-2]}: 100 %")).to_be_visible()
    # The layer shown first is one that looks at the two digits above this one.
    attends = page.locator("#inside .tokens").last
    assert attends.locator(".strong").evaluate_all("all => all.map(t => t.firstChild.data)") == [a[-2], b[-2]]
    page.get_by_label("layer").select_option("0")
    expect(page.get_by_label("layer")).to_be_focused()
    expect(digits.nth(-2)).to_have_attribute("aria-pressed", "true")


LONG = "314159265358979323846264338327950288419716939937510582097494", "2718281828459045235360287471352662497757"
LABELS = ["first", "+ second", "model", "truth", "theory"]


def read_blocks(page: Page, labels: list[str] = LABELS, room: int = 1) -> list[str]:
    """The numbers of a sum in blocks, row by row; all of it is in sight, in columns, and fills its lines up to so
    many columns."""
    tables = page.locator("#answer table").evaluate_all(
        """all => all.map(table => [...table.rows].map(row => ({
            label: row.cells[0].textContent, end: row.cells[0].getBoundingClientRect().right,
            digits: [...row.querySelectorAll(".digit, .answer-digit")].map(digit => ({
                text: digit.firstChild.data, x: digit.getBoundingClientRect().x,
                width: digit.getBoundingClientRect().width}))})))"""
    )
    box = page.locator("#answer").bounding_box()
    for table in tables:
        assert [row["label"] for row in table] == labels
        columns = max((row["digits"] for row in table), key=len)
        for row in table:
            for digit, above in zip(reversed(row["digits"]), reversed(columns), strict=False):
                assert row["end"] <= digit["x"] + 1 and digit["x"] + digit["width"] <= box["x"] + box["width"] + 1
                assert digit["x"] == pytest.approx(above["x"], abs=1.5)
    full = tables[-1][0]
    assert full["digits"][0]["x"] - full["end"] < room * full["digits"][0]["width"] + 8, "more would fit"
    assert not overflows(page)
    return ["".join(d["text"] for table in tables for d in table[row]["digits"]) for row in range(len(labels))]


def tells_all_attention(page: Page, tokens_before: int) -> None:
    """The shares of the tokens shown, of nothing and of the other tokens are all there is, but for rounding."""
    shown = (
        page.locator("#inside .tokens")
        .last.locator(".token")
        .evaluate_all("all => all.map(token => Number(token.style.getPropertyValue('--share')))")
    )
    told = page.locator("#inside .note").last.inner_text()
    nothing = re.search(r"(\d+) % of its attention has no effect", told)
    rest = re.search(r"The other (\d+) tokens (?:share the remaining (\d+) %|have less than 1 % together)\.", told)
    assert rest and int(rest[1]) == tokens_before - len(shown)
    percent = [100 * sum(shown), int(nothing[1] if nothing else 0), int(rest[2] or 0)]
    assert sum(percent) == pytest.approx(100, abs=1.1), percent


@pytest.mark.slow
@pytest.mark.parametrize(("size", "other"), [(PHONE, DESKTOP), (DESKTOP, PHONE)])
def test_a_long_sum_is_shown_whole_in_blocks(opened, size, other):
    a, b = LONG
    page = opened(f"#ask?model=coupled-addition&a={a}&b={b}", size)
    expect(page.locator("#answer-verdict")).not_to_be_empty(timeout=30_000)
    first, second, answered, truth, _ = read_blocks(page)
    assert (first, second, truth) == (a, b, str(int(a) + int(b)))
    blocks = page.locator("#answer table").count()
    right = [own == true for own, true in zip(answered, truth, strict=True)]
    assert (
        page.locator("#answer .answer-digit").evaluate_all(
            "all => all.map(digit => !digit.classList.contains('wrong'))"
        )
        == right
    )
    expect(page.locator("#answer-count")).to_contain_text(f"{sum(right)} of 60 digits right")
    expect(page.locator("#inside")).to_contain_text("It depends on")
    page.locator("#answer .answer-digit").last.focus()
    expect(page.get_by_label(f"digit 1 of the first number, {a[-1]}: 100 %")).to_be_visible()
    expect(page.locator("#inside")).to_contain_text("has no effect")
    tells_all_attention(page, tokens_before=1 + 60 + 1 + 60 + 1)
    page.locator("#answer .answer-digit").first.focus()
    expect(page.get_by_label(f"digit 60 of the first number, {a[0]}: 100 %")).to_be_visible()
    tells_all_attention(page, tokens_before=1 + 60 + 1 + 60 + 1 + 59)
    assert page.locator("#inside .token").count() < 40
    page.set_viewport_size(other)
    expect(page.locator("#answer table")).not_to_have_count(blocks)
    expect(page.locator("#answer .answer-digit").first).to_be_focused()
    assert read_blocks(page) == [first, second, answered, truth, _]


def test_a_model_of_products_with_a_short_number(opened):
    """It says so, marks digits that training did not have, and draws numbers of its own kind."""
    a = "314159265358979323846264338327950288419716939937"
    page = opened(f"#ask?model=coupled-multiplication&a={a}&b=271")
    about = "Trained on numbers of up to 40 digits and numbers of exactly 2, it accepts up to 1000."
    expect(page.locator("#model-about")).to_contain_text(about)
    expect(page.locator("#answer-verdict")).not_to_be_empty(timeout=30_000)
    unseen = page.locator("#answer .digit.unseen")
    assert unseen.all_inner_texts() == [*"31415926", "2"]
    note = "In training (1..40x2) the second number has 2 digits, not 3."
    expect(page.locator("#answer-note")).to_have_text(note)
    page.get_by_role("button", name="Random").click()
    expect(page.locator("#answer-verdict")).to_contain_text("Right")
    lengths = [len(page.locator(f"#ask-form [name={name}]").input_value()) for name in "ab"]
    assert lengths == [42, 2]
    page.evaluate("location.hash = '#ask?model=coupled-multiplication&a=12&b=7'")
    expect(unseen).to_have_text(["7"])
    expect(unseen).to_have_attribute("title", "shorter than anything in training")


def test_a_digit_of_a_product_comes_from_five(opened):
    """Two digits of its columns and one below, which makes the carry, and both of the short number."""
    a = "314159265358979323846264338327950288419716939937510582097494"
    page = opened(f"#ask?model=coupled-multiplication&a={a}&b=27", DESKTOP, "light")
    expect(page.locator("#answer-count")).to_have_text("61 of 61 digits right.")
    expect(page.locator("#inside")).to_contain_text("It depends on")
    page.locator("#answer .answer-digit").nth(30).focus()
    needed = [f"digit {place} of the first number, {a[-place]}: 100 %" for place in (31, 30, 29)]
    for label in (*needed, "digit 2 of the second number, 2: 100 %", "digit 1 of the second number, 7: 100 %"):
        expect(page.get_by_label(label)).to_be_visible()
    picture(page, "product", DESKTOP, "light")


def ask_made_up(page: Page, problem: tuple[str, str, str], answer: str, **changes) -> None:
    """An answer that no model wrote, to a problem (a, b, truth)."""
    a, b, truth = problem
    last_first, nothing = changes.pop("last_first", True), changes.pop("nothing", None)
    waits, unfinished = changes.pop("waits", []), changes.pop("unfinished", False)
    token = {"kind": "digit", "probability": 0.9, "alternatives": [["7", 0.9]]}
    judged = {"answered": answer, "malformed": None, "right": False, "as_predicted": False} | changes
    lines = [
        {"problem": {"truth": truth, "predicted": truth, "last_digit_first": last_first}},
        *({"waiting": {"position": position, "seconds": seconds}} for position, seconds in waits),
        *({"token": token | {"text": digit}} for digit in (answer[::-1] if last_first else answer)),
        *([{"answer": judged}] if answer and not unfinished else []),
    ]
    read, written = len(a) + len(b), len(answer)
    weights = [[(0, 0.25)], [(0, 0.6), (1, 0.399)]]
    attention = {
        **{"tokens": ["1"] * (read + written), "prompt_length": read, "places": [["a", 1]] * read, "sharpest": 0},
        **{"layers": [[row] * written for row in weights], "nothing": nothing},
        "no_dependence": "these numbers are long",
    }
    model = {"name": "far", "shipped": True, "error": None, "task": "add", "sign": "+", "base": 10}
    model |= {"train": "D1..10", "trained_lengths": [[1, 10]] * 2, "encoding": "coupled", "operand_digits": 1_000}
    page.route("**/api/models*", lambda route: route.fulfill(json={"models": [model]}))
    page.route("**/api/ask*", lambda route: route.fulfill(body="".join(json.dumps(line) + "\n" for line in lines)))
    page.route("**/api/attention*", lambda route: route.fulfill(json=attention))
    page.evaluate("hash => (location.hash = hash)", f"#ask?model=far&a={a}&b={b}")


@pytest.mark.parametrize("size", [PHONE, DESKTOP])
@pytest.mark.parametrize("last_first", [True, False])
def test_a_sum_of_a_thousand_digits(opened, size, last_first):
    """The ones and the 900th digit are wrong."""
    a, b, truth = "1" * 1_000, "6" * 1_000, "7" * 1_000
    answer = f"{truth[:100]}8{truth[101:-1]}8"
    page = opened(size=size)
    ask_made_up(page, (a, b, truth), answer, last_first=last_first)
    expect(page.locator("#answer-count")).to_have_text(
        "998 of 1000 digits right; first wrong from the right: ones.", timeout=30_000
    )
    assert read_blocks(page, LABELS[:-1], room=10) == [a, b, answer, truth]
    expect(page.locator("#answer-hint")).to_contain_text("Theory predicts the truth.")
    assert page.locator("#answer").bounding_box()["height"] < (3_000 if size == PHONE else 1_500)
    assert page.locator("#answer .answer-digit.wrong").all_inner_texts() == ["8", "8"]
    expect(page.locator("#inside")).to_contain_text("These numbers are long.")
    expect(page.locator("#inside")).to_contain_text("The other 1999 tokens share the remaining 75 %.")
    page.get_by_label("layer").select_option("1")
    expect(page.locator("#inside")).to_contain_text("The other 1998 tokens have less than 1 % together.")


@pytest.mark.parametrize("digits", [3, 100])
def test_attention_on_nothing_is_told_apart_from_that_to_other_tokens(opened, digits):
    page = opened()
    number, truth = "1" * digits, "2" * digits
    ask_made_up(page, (number, number, truth), truth, nothing=[[0.27] * digits, [0.0009] * digits])
    note = page.locator("#inside .note").last
    expect(note).to_contain_text("27 % of its attention has no effect: it is on the null key")
    if digits > 3:
        expect(note).to_contain_text("The other 199 tokens share the remaining 48 %.")
    page.get_by_label("layer").select_option("1")
    expect(note).not_to_contain_text("nothing")


@pytest.mark.parametrize(
    ("written", "shown", "wrong", "changes"),
    [
        ("00357", "357", "", {"right": True}),
        ("00057", "057", "0", {}),
        ("01357", "1357", "1", {}),
        ("010357", "10357", "10", {}),
        ("357", "357", "", {"right": True}),
        ("57", "57", "", {}),
        ("0357", "0357", "0", {"malformed": "the answer has a zero before its leading digit"}),
        ("0357", "0357", "0", {"malformed": "that zero", "last_first": False}),
    ],
)
def test_zeros_above_an_answer_are_shown_where_they_matter(opened, written, shown, wrong, changes):
    """Some layouts fill numbers up with zeros: those above the truth and the answer say nothing, but where zeros
    make an answer no number they are seen."""
    page = opened()
    ask_made_up(page, ("12", "345", "357"), written, **changes)
    expect(page.locator("#answer-verdict")).not_to_be_empty(timeout=30_000)
    assert page.locator("#answer-verdict").inner_text().startswith("✓") == changes.get("right", False)
    for digits, expected in (("", shown), (".wrong", wrong)):
        assert "".join(page.locator(f"#answer .answer-digit{digits}").all_inner_texts()) == expected


def test_digits_are_counted_as_they_are_marked(opened):
    page, truth = opened(), "10" * 10
    ask_made_up(page, ("1", "1", truth), "0" * 21 + "10")
    expect(page.locator("#answer-count")).to_have_text(
        "11 of 20 digits right; first wrong from the right: thousands."
    )
    expect(page.locator("#answer .answer-digit")).to_have_count(20)
    expect(page.locator("#answer .answer-digit.wrong")).to_have_count(9)


def test_an_answer_without_end_is_not_waited_for(browser, server):
    """Where motion is welcome, digits come one by one: 300 of them would take half a minute."""
    page = browser.new_page()
    page.goto(server.address)
    ask_made_up(page, ("12", "345", "357"), "90" * 150, malformed="it does not end")
    expect(page.locator("#answer-verdict")).to_contain_text("it does not end", timeout=5_000)
    expect(page.locator("#answer .answer-digit")).to_have_count(300)
    page.close()


def test_progress_is_told_above_the_answer(opened):
    page = opened()
    ask_made_up(page, ("1" * 300, "1" * 300, "2" * 300), "2" * 120, unfinished=True)
    progress = page.locator("#answer-progress")
    expect(progress).to_contain_text("The model writes 120 of 300 digits")
    expect(progress).to_be_in_viewport()
    assert page.locator("#answer-progress progress").evaluate("bar => bar.value / bar.max") == 0.4


def test_digits_are_reached_by_arrow_keys_and_are_one_stop_of_tab(opened):
    page, truth = opened(), "9876543210" * 30
    ask_made_up(page, (truth, "0", truth), truth, right=True)
    expect(page.locator("#answer-verdict")).to_contain_text("Right")
    digits = page.locator("#answer .answer-digit")
    expect(page.locator("#answer .answer-digit[tabindex='0']")).to_have_count(1)
    digits.last.focus()
    told = page.locator("#inside .alternatives")
    for key, place in (("ArrowLeft", 298), ("ArrowUp", 238), ("Home", 0), ("ArrowRight", 1), ("End", 299)):
        page.keyboard.press(key)
        expect(digits.nth(place)).to_be_focused()
        expect(digits.nth(place)).to_have_attribute("aria-pressed", "true")
        expect(told).to_contain_text(f"The digit {truth[place]} was")
    page.get_by_role("button", name="The digit to the right").is_disabled()
    page.get_by_role("button", name="The digit to the left").press("Enter")
    expect(digits.nth(298)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="The digit to the left")).to_be_focused()


def test_who_waits_is_told_how_many_are_before_and_about_how_long(opened):
    page = opened()
    ask_made_up(page, ("12", "345", "357"), "", waits=[(3, 40.2), (2, 12.4)])
    expect(page.locator("#answer-progress")).to_contain_text("2 questions are before this one: about 13 s")
    expect(page.locator("#answer")).to_contain_text("truth")


def test_an_answer_takes_the_place_of_the_wait_for_it(opened):
    page = opened()
    ask_made_up(page, ("12", "345", "357"), "357", waits=[(1, 2)], right=True)
    expect(page.locator("#answer-verdict")).to_contain_text("Right")
    expect(page.locator("#answer-progress")).to_be_hidden()
    assert "".join(page.locator("#answer .answer-digit").all_inner_texts()) == "357"


def test_a_link_to_an_unknown_model_says_so_and_asks_no_other(opened):
    page = opened("#ask?model=runs%2Fgone&a=12&b=34")
    expect(page.locator("#model-error")).to_have_text("There is no model “runs/gone” here: choose another.")
    expect(page.locator("#ask-results")).to_be_hidden()
    assert page.get_by_label("Model", exact=True).input_value() == ""
    assert page.get_by_label("First number", exact=True).input_value() == "12"
    for button in ("Ask", "Random"):
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.locator("#model-error")).to_have_text("Choose a model.")
    page.get_by_label("Model", exact=True).select_option("mod-100")
    expect(page.locator("#answer-verdict")).not_to_be_empty(timeout=30_000)
    expect(page.locator("#model-error")).to_be_empty()
    page.evaluate("location.hash = '#ask?model=nowhere&a=1&b=2'")
    expect(page.locator("#ask-results")).to_be_hidden()


def test_a_link_to_runs_that_cannot_be_shown_says_why(opened):
    page = opened("#runs?run=runs%2Fgone&run=runs%2Fbroken")
    results = page.locator("#run-results")
    expect(results).to_contain_text("runs/gone is not among the runs listed here.")
    expect(results).to_contain_text("runs/broken cannot be read")
    expect(page.locator(".run-item input:checked")).to_have_count(0)
    question(page, "mul%5").click()
    page.get_by_role("checkbox", name="runs/products/").check()
    expect(page.locator("#run-results .verdict-title")).to_have_count(1)
    expect(results).to_contain_text("runs/gone")


def test_a_link_with_an_unknown_choice_says_so_and_shows_no_other(opened):
    page = opened("#predict?encoding=wavelet")
    expect(page.locator("#encoding-error")).to_have_text("unknown encoding “wavelet”")
    expect(page.locator("#learned")).to_contain_text("Nothing to show")
    page.get_by_label("positions encoded as").select_option("coupled")
    expect(page.locator("#learned")).to_contain_text("except where a carry travels")
    expect(page.locator("#encoding-error")).to_be_empty()


def test_a_short_sum_stands_in_one_table(opened, sum_asked):
    a, b, _ = sum_asked
    page = opened(f"#ask?model=addition&a={a}&b={b}")
    expect(page.locator("#answer-verdict")).not_to_be_empty(timeout=30_000)
    assert page.locator("#answer th").all_inner_texts() == ["", "", "model", "truth", "theory"]
    expect(page.locator("#answer-count")).to_be_empty()


def test_bad_numbers_are_explained_where_they_were_typed(opened):
    page = opened("#ask")
    expect(page.locator("#answer-verdict")).not_to_be_empty(timeout=30_000)
    page.get_by_label("First number", exact=True).fill("1" * 200)
    page.get_by_label("Second number", exact=True).fill("1.5")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#ask-a-error")).to_contain_text("too many")
    expect(page.locator("#ask-b-error")).to_contain_text("“.” is not a digit in base 10")
    expect(page.get_by_label("First number", exact=True)).to_be_focused()
    page.get_by_label("First number", exact=True).fill("")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#ask-a-error")).to_contain_text("type a number")
    page.get_by_role("button", name="Random").click()
    expect(page.locator("#ask-form .field-error:not(:empty)")).to_have_count(0)


def test_a_model_that_does_not_load_says_so_and_the_page_lives_on(browser, server):
    """The browser itself notes a refusal in its console: all else must be quiet."""
    page = browser.new_page()
    seen = watch(page)
    page.goto(server.address + "#ask?model=runs%2Ftorn&a=1&b=1")
    expect(page.locator("#model-error")).to_contain_text("cannot load this model")
    page.get_by_label("Model", exact=True).select_option("mod-100")
    expect(page.locator("#answer-verdict")).not_to_be_empty(timeout=30_000)
    expect(page.locator("#model-error")).to_be_empty()
    assert all("409" in error for error in seen.errors) and not seen.left
    page.close()


def test_a_run_is_followed_while_it_trains(opened, server):
    from lengthwise.records.files import folder_lock
    from lengthwise.records.folder import RunFolder

    name = next(path.name for path in server.runs.glob("add*"))
    folder = RunFolder(server.runs / name)
    page = opened(f"#runs?run=runs%2F{name}")
    expect(page.locator(".run-lines")).to_contain_text("done, 24 steps")
    records, size = folder.records(), folder.records_size()
    try:
        with folder_lock(folder.path):
            folder.set_status("running")
            folder.append([records[-1].model_copy(update={"step": 1_024, "metric": "train_loss", "value": 0.25})])
            expect(page.locator(".run-lines")).to_contain_text("running, step 1,024")
            expect(question(page, "add in base 3, trained on D2").locator(".pill")).to_have_text("1 running")
        expect(page.locator(".run-lines")).to_contain_text("interrupted, step 1,024")
    finally:
        folder.cut_records(size)
        folder.set_status("done")
    expect(page.locator(".run-lines")).to_contain_text("done, 24 steps")


def test_runs_are_compared_told_apart_and_reported(opened):
    page = opened("#runs")
    question(page, "cannot be read").click()
    expect(page.locator(".setting", has_text="runs/broken")).to_contain_text("cannot be read")
    question(page, "add in base 3, trained on D2").click()
    page.get_by_role("button", name="only these 2").click()
    expect(page.locator("#run-results .verdict-title")).to_contain_text("2 seeds")
    question(page, "mul%5").click()
    page.get_by_role("checkbox", name="runs/products/").check()
    expect(page.locator("#run-results .verdict-title")).to_have_count(2)
    assert (
        len(
            set(
                page.locator("#run-results .lines path").evaluate_all(
                    "all => all.map(p => p.getAttribute('stroke'))"
                )
            )
        )
        == 3
    )
    chart = page.get_by_role("group", name="Training loss")
    chart.focus()
    page.keyboard.press("ArrowRight")
    expect(chart.locator("xpath=following-sibling::p")).to_contain_text("Step 1")
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Open the report").click()
    report = popup.value
    report.wait_for_load_state()
    expect(report.locator("h1").first).to_be_visible()


def test_a_list_that_is_cut_says_so_and_begins_with_ones_own_runs(opened, crowded):
    page = opened("#runs", at=crowded)
    count = page.locator("#run-count")
    expect(count).to_contain_text("1,000 of 1,003 runs, 1 question")
    expect(count).to_contain_text("1,000 are listed: --runs FOLDER chooses others.")
    expect(page.locator(".run-item input:checked")).to_have_count(1)
    expect(count).to_be_in_viewport()
    expect(page.get_by_role("checkbox", name="runs/mine")).to_be_checked()


def test_runs_are_searched_and_filtered_and_a_link_holds_that(opened, results_server):
    runs = results_server.client().get("/api/runs").json()["runs"]
    asked = {tuple(run[part] for part in ("task", "base", "train", "encoding", "layout")) for run in runs}
    page = opened("#runs?encoding=coupled&verdict=holds", at=results_server)
    count, questions = page.locator("#run-count"), page.locator("#run-list .question")
    expect(count).to_contain_text(f"of {len(runs)} runs")
    expect(count).not_to_contain_text("not judged yet")
    positions = page.locator(".question .positions").all_inner_texts()
    assert len(positions) > 1 and all(text.startswith("coupled positions, ") for text in positions)
    expect(page.locator(".question .sign.no")).to_have_count(0)
    page.get_by_label("Search").fill("D1..20 coupled-1000")
    expect(questions).to_have_count(1)
    expect(page.get_by_label("all 3 seeds of coupled-1000", exact=True)).to_be_visible()
    assert "search=D1..20+coupled-1000&encoding=coupled" in page.url
    page.reload()
    expect(count).to_contain_text(f"3 of {len(runs)} runs, 1 question")
    page.get_by_role("button", name="Clear filters").click()
    expect(count).to_contain_text(f"{len(runs)} runs, {len(asked)} questions")
    page.get_by_label("Search").fill("nothing like it")
    expect(questions).to_have_count(0)
    page.evaluate("location.hash = '#runs?task=div'")
    expect(count).to_contain_text(f"0 of {len(runs)} runs")
    assert page.get_by_label("Task").input_value() == "div"


def test_it_says_which_runs_were_not_tested_on_a_domain(opened, results_server):
    runs = ("coupled-1000.json/coupled-1000-s61", "table1.json/table1-learned-add-s1")
    page = opened("#runs?" + "&".join(f"run=results/{name}" for name in runs), at=results_server)
    page.locator("#domain").select_option("D1000")
    expect(page.locator(".lacking")).to_have_text("Not tested on D1000: table1-learned-add-s1.")
    page.get_by_role("button", name="Choose none").click()
    expect(page.locator("#run-results")).to_have_text("Choose runs to see their results.")


def focus_is_seen(page: Page) -> bool:
    """Whether what has the focus, or the label around it, has an outline."""
    return page.evaluate(
        """() => [document.activeElement, document.activeElement.closest("label")].some(
            element => element && getComputedStyle(element).outlineStyle !== "none")"""
    )


def test_runs_are_chosen_by_keyboard_alone(opened, server):
    names = "&".join(f"run=runs/{path.name}" for path in server.runs.glob("add*"))
    page = opened(f"#runs?{names}")
    seeds, all_seeds = (
        page.locator(".run-item.seed input:checked"),
        page.get_by_label(re.compile("^all 2 seeds of")),
    )
    expect(seeds).to_have_count(2)
    expect(page.locator("#run-count")).not_to_contain_text("not judged yet")
    page.get_by_label("Search").focus()
    for name in ("Task", "Encoding", "Recipe", "Verdict"):
        page.keyboard.press("Tab")
        expect(page.get_by_label(name, exact=True)).to_be_focused()
        assert focus_is_seen(page)
    page.keyboard.press("Tab")
    expect(question(page, "add in base 3, trained on D1")).to_be_focused()
    page.keyboard.press("Tab")
    summary, group = question(page, "add in base 3, trained on D2"), page.locator("#run-list .question").nth(1)
    expect(summary).to_be_focused()
    assert focus_is_seen(page)
    for key in ("Enter", " "):
        page.keyboard.press(key)
        expect(group).to_have_attribute("open", "") if key == " " else expect(group).not_to_have_attribute(
            "open", ""
        )
    page.keyboard.press("Tab")
    expect(all_seeds).to_be_focused()
    assert focus_is_seen(page)
    page.keyboard.press(" ")
    expect(page.locator("#run-results")).to_have_text("Choose runs to see their results.")
    expect(all_seeds).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="only these 2")).to_be_focused()
    page.keyboard.press("Enter")
    expect(seeds).to_have_count(2)
    page.keyboard.press("Escape")
    expect(summary).to_be_focused()
    expect(group).not_to_have_attribute("open", "")
    page.get_by_label("Search").fill("mul")
    page.get_by_label("Search").press("Escape")
    expect(page.locator("#run-list .question")).to_have_count(4)


def test_a_group_just_opened_stays_open_when_the_list_is_redrawn(opened, server):
    """The browser tells later that an element was opened: here the list is redrawn before."""
    page = opened("#runs?" + "&".join(f"run=runs/{path.name}" for path in server.runs.glob("add*")))
    # All runs are listed and judged, so nothing else redraws the list.
    expect(page.locator("#run-count")).to_have_text(re.compile("questions$"))
    opening = question(page, "add in base 3, trained on D2")
    opening.click()
    box = page.locator(".run-item.seed input").first
    expect(box).to_be_hidden()
    opening.evaluate("({parentElement: group}) => { group.open = true; group.querySelector('input').click() }")
    expect(box).not_to_be_checked()
    expect(box).to_be_visible()


def test_a_whole_list_has_no_note(opened):
    page = opened("#runs")
    expect(page.locator(".run-item").first).to_be_visible()
    expect(page.locator("#run-count")).not_to_contain_text("listed")


def test_the_keyboard_reaches_everything(opened):
    page = opened()
    expect(page.locator("#accuracy .column")).to_have_count(9)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.textContent.slice(0, 20) || document.activeElement.name")
        )
        if reached[-1] == "Another example":
            break
    for name in (
        "Skip to content",
        "Predict",
        "Ask",
        "Runs",
        "operation",
        "modulus",
        "base",
        "train",
        "test",
        "a",
        "b",
    ):
        assert name in reached or name == "test", (name, reached)
    assert reached[-1] == "Another example"


def test_a_narrow_screen_shows_what_is_learned_before_the_form(opened):
    page = opened(size=PHONE)
    learned, form = (page.locator(name).bounding_box()["y"] for name in ("#learned", "#predict-form"))
    assert learned < form
