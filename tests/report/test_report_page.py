"""The report shows what the records hold: every number on the page against a count of its own."""

import base64
import gzip
import json
import re
import shutil
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

import plotly.graph_objects as go
import pytest
from synthetic_runs import record_maker, synthetic_run

import lengthwise
from lengthwise.cli import main
from lengthwise.errors import InputError
from lengthwise.records.files import folder_lock
from lengthwise.records.verdicts import clopper_pearson
from lengthwise.records.view import RunView
from lengthwise.report.page import Report, verdict_counts, verdict_tables
from lengthwise.report.page.plots import (
    COLOURS,
    SYMBOLS,
    dependence_plots,
    digits_at_the_end,
    digits_through_training,
    failure_plot,
    length_map,
    length_plots,
    mark,
    setting_plots,
    spread_plot,
    training_plots,
)
from lengthwise.report.queries import Seeds

ROOT = Path(__file__).parent.parent.parent
ADD = {"task": "add", "train": "D2", "test": "D1..4", "base": 4}
CONFIG = json.dumps(ADD | {"encoding": "learned", "layout": None, "seed": 0})
RECORD = (
    '{"run": "r", "seed": 0, "step": 0, "task": "add", "base": 4, "domain": "D2", "metric": "exact", '
    '"correct": 1, "total": 1, "selection": "sampled"}\n'
)
WATCHED = {"digits": True, "dependence": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Three seeds of one setting, one run of another, one question without a prediction; one run was decoded."""
    place = tmp_path_factory.mktemp("runs")
    for seed in (1, 2, 3):
        follows = 1 - seed / 50
        config = ADD | {"seed": seed, "evaluation": WATCHED}
        synthetic_run(place / "add", config, name=f"s{seed}", follows=lambda d, share=follows: share)
    synthetic_run(place / "add", ADD | {"model": {"dropout": 0.5}}, name="dropout")
    synthetic_run(place / "open", ADD | {"task": "add%7", "encoding": "none"}, name="s0")
    _decode(RunView.of(place / "add" / "s1"))
    return place


def _decode(view: RunView) -> None:
    make = record_maker(view, view.last_step)
    shares = {"exact": 0.5, "malformed": 0.1, "wrong_length": 0.1, "first_wrong:1": 0.1, "first_wrong:3": 0.2}
    view.source.append([make("D4", metric, share, mode="decoded") for metric, share in shares.items()])
    view.source.append([make("D4", f"pair:{a}:{b}", share=(a + b) / 10) for a in (1, 2) for b in (1, 2, 3)])


@pytest.fixture(scope="module")
def asked(folder):
    return shown(folder)


def shown(*paths):
    """The questions that the runs found there ask."""
    return Report.of(paths).questions


def seeds_of(setting):
    return Seeds(tuple(run.view for run in setting.runs))


def measured(run, domain, reference="truth", metric="exact", step=None):
    """A share counted from the records, line by line."""
    step = run.view.last_step if step is None else step
    (found,) = [
        record
        for record in run.view.records
        if (record.domain, record.reference, record.metric, record.step, record.mode)
        == (str(domain), reference, metric, step, "forced")
    ]
    return found.correct / found.total


def test_runs_that_differ_in_seed_alone_are_one_setting(asked):
    add, other = asked
    assert [[run.label for run in setting.runs] for setting in add.settings] == [
        ["dropout"],
        ["s1", "s2", "s3"],
    ]
    assert [setting.label for setting in add.settings] == ["dropout 0.5 (seed 0)", "dropout 0.0 (seeds 1, 2, 3)"]
    assert (str(other.spec.task), len(other.settings)) == ("add%7", 1)


def test_how_a_run_is_watched_sets_nothing_apart(tmp_path):
    for every in (100, 300):
        synthetic_run(tmp_path, ADD | {"training": {"evaluate_every": every}}, name=f"every{every}")
    (question,) = shown(tmp_path)
    (setting,) = question.settings
    assert setting.label == "seed 0, 2 runs"


def test_verdicts_are_those_of_the_records(folder, asked):
    words = [row.word for run in asked[0].runs for row in run.view.verdicts()]
    assert verdict_counts(asked[0].runs) == {
        "holds": words.count("holds"),
        "fails": words.count("fails"),
        "undecided": words.count("undecided"),
        "no prediction": 0,
    }
    assert verdict_counts(asked[1].runs)["no prediction"] == 4
    assert sum(Report.of([folder]).counts.values()) == 4 * 5


def test_accuracy_by_length(asked):
    theory, alone, seeds = length_plots(asked[0])[0].data
    domains = asked[0].domains
    assert theory["y"] == [100, 100, 0, 0]
    (run,) = asked[0].settings[0].runs
    shares = [measured(run, domain) for domain in domains]
    assert alone["y"] == pytest.approx([100 * share for share in shares])
    low, high = clopper_pearson(round(1000 * shares[0]), 1000)
    assert alone["error_y"]["array"][0] == pytest.approx(100 * (high - shares[0]), abs=1e-3)
    assert alone["error_y"]["arrayminus"][0] == pytest.approx(100 * (shares[0] - low), abs=1e-3)
    runs = asked[0].settings[1].runs
    mine = [measured(run, "D2") for run in runs]
    assert seeds["y"][1] == pytest.approx(100 * sum(mine) / 3, abs=1e-3)
    assert seeds["y"][1] - seeds["error_y"]["arrayminus"][1] == pytest.approx(100 * min(mine), abs=1e-3)


def test_agreement_and_its_spread(asked):
    agreement = length_plots(asked[0])[1].data[1]
    runs = asked[0].settings[1].runs
    mine = [measured(run, "D4", "truncated:2") for run in runs]
    assert agreement["y"][3] == pytest.approx(100 * sum(mine) / 3, abs=1e-3)
    plot = spread_plot(asked[0], asked[0].settings[1])
    assert [trace["y"][3] for trace in plot.data] == pytest.approx([100 * share for share in mine])
    assert spread_plot(asked[0], asked[0].settings[0]) is None


def test_without_a_prediction_there_is_no_agreement(asked):
    assert [plot.words["title"] for plot in length_plots(asked[1])] == ["How often is it right?"]
    assert len(training_plots(asked[1], seeds_of(asked[1].settings[0]))) == 1


def names(plot):
    """Of the rows of a heat map."""
    return [row[0] for row in plot.rows]


def test_heat_maps_through_training(asked):
    setting = asked[0].settings[1]
    right, agreement = training_plots(asked[0], seeds_of(setting))
    assert agreement.columns == ["0", "100", "200", "300"] and names(agreement) == ["D1", "D2", "D3", "D4"]
    for row, domain in enumerate(asked[0].domains):
        for column, step in enumerate((0, 100, 200, 300)):
            mine = [measured(run, domain, "truncated:2", step=step) for run in setting.runs]
            assert agreement.heat[row][column] == pytest.approx(100 * sum(mine) / 3, abs=1e-3)
            assert float(agreement.rows[row][1 + column]) == pytest.approx(100 * sum(mine) / 3, abs=0.01)
    assert right.heat[3] == [0, 0, 0, 0]


def test_digits(asked):
    setting = asked[0].settings[1]
    seeds = seeds_of(setting)
    end, curves = digits_at_the_end(asked[0], seeds), digits_through_training(seeds, asked[0].domains[3])
    titles = [plot.words["title"] for group in setting_plots(asked[0], setting) for plot in group]
    through = [title.rpartition(" ")[2] for title in titles if title.startswith("Digit by digit through training")]
    assert through == ["D2", "D4"], "the training domain and the longest"
    mine = [measured(run, "D3", metric=f"digit:{end.columns[1]}") for run in setting.runs]
    assert end.heat[2][1] == pytest.approx(100 * sum(mine) / 3, abs=1e-3)
    first = curves.data[0]
    mine = [measured(run, "D4", metric="digit:1", step=100) for run in setting.runs]
    assert (first["name"], first["y"][1]) == ("digit 1", pytest.approx(100 * sum(mine) / 3, abs=1e-3))
    # Digits at the last evaluation alone make no curve.
    assert digits_through_training(seeds_of(asked[0].settings[0]), asked[0].domains[3]) is None


def test_dependence_stands_beside_the_exact_one(asked):
    found, exact = dependence_plots(seeds_of(asked[0].settings[1]))
    assert (exact.columns, names(exact)) == (["4", "3", "2", "1"], ["5", "4", "3", "2", "1"])
    # truncated:2: the top two digits of an operand are never read; in base 4, digit 1 carries with chance 5/12.
    assert [row[0] for row in exact.heat] == [0] * 5
    assert exact.heat[3][3] == round(float(100 * Fraction(5, 12)), 3)
    assert found.heat[3][3] == pytest.approx(exact.heat[3][3], abs=0.1)
    assert dependence_plots(seeds_of(asked[0].settings[0])) == []


def test_one_run_of_a_setting_is_enough_for_dependence(tmp_path):
    for seed in (1, 2):
        synthetic_run(tmp_path, ADD | {"seed": seed, "evaluation": {"dependence": seed == 2}}, name=f"s{seed}")
    ((setting,),) = (question.settings for question in shown(tmp_path))
    found, exact = dependence_plots(seeds_of(setting))
    assert found.heat[3][3] == pytest.approx(exact.heat[3][3], abs=0.1)


def test_failures_share_out_all_answers(asked):
    plot = failure_plot(seeds_of(asked[0].settings[1]))
    assert {trace["name"]: trace["y"][0] for trace in plot.data} == {
        "right": 50,
        "not a number": 10,
        "wrong number of digits": 10,
        "first wrong at digit 1": 10,
        "first wrong at digit 3": 20,
    }
    assert failure_plot(seeds_of(asked[0].settings[0])) is None


def test_a_map_of_both_lengths(asked):
    found = length_map(seeds_of(asked[0].settings[1]))
    assert (names(found), found.columns) == (["1", "2"], ["1", "2", "3"])
    assert found.heat == [[20, 30, 40], [30, 40, 50]]
    assert length_map(seeds_of(asked[0].settings[0])) is None


def test_curves_are_told_apart_far_beyond_the_number_of_colours():
    looks = [(mark(i, 9)["color"], mark(i, 9)["symbol"]) for i in range(len(COLOURS) * len(SYMBOLS))]
    assert len(set(looks)) == len(looks)


@pytest.fixture(scope="module")
def html(folder):
    return Report.of([folder]).html()


def unpacked(html, name):
    text = re.search(rf'id="{name}">(.*?)</script>', html, re.DOTALL)[1]
    return gzip.decompress(base64.b64decode(text)).decode()


def test_every_plot_is_one_that_plotly_knows(html):
    plots = json.loads(unpacked(html, "plots"))
    drawn = [plot for plot in plots if plot["data"]]
    assert len(drawn) == html.count('role="img"') and len(plots) == html.count("data-plot=") > 10
    for plot in drawn:
        go.Figure(plot["data"])


def test_every_figure_has_words_and_numbers(html):
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    assert len(figures) == html.count("<figure")
    plots = json.loads(unpacked(html, "plots"))
    for figure in figures:
        assert len(re.search(r'aria-label="([^"]*)"', figure)[1]) > 40
        plot = plots[int(re.search(r'data-plot="(\d+)"', figure)[1])]
        table = plot["table"]
        assert table["rows"] and all(len(row) == len(table["columns"]) for row in table["rows"])


def test_a_verdict_is_never_colour_alone(html):
    table = re.search(r'<table class="verdicts">.*?</table>', html, re.DOTALL)[0]
    cells = re.findall(r'<td class="(\w+)"><b><span[^>]*>(.)</span> ([\w ]+)</b>', table)
    assert len(cells) == table.count("<td")
    for css, sign, word in cells:
        assert (css, sign) == {
            "holds": ("holds", "✓"),
            "fails": ("fails", "✗"),
            "undecided": ("undecided", "?"),
            "seeds differ": ("undecided", "≠"),
        }[word]


def test_seeds_of_a_setting_share_a_row_and_a_config(asked, html):
    (alone, seeds), _ = verdict_tables(asked).values()
    labels = [[run.label for run in row.setting.runs] for row in (alone, seeds)]
    assert labels == [["dropout"], ["s1", "s2", "s3"]]
    shares = [100 * measured(run, "D2") for run in seeds.setting.runs]
    assert seeds.cells[1].accuracy == f"{sum(shares) / 3:.2f} ({min(shares):.2f} to {max(shares):.2f})"
    assert "to" not in alone.cells[1].accuracy
    assert html.count('"dropout": 0.5') == 1
    assert html.count('"dropout": 0.0') == 2, "one config for three seeds, one for the other question"
    assert [f'<th scope="row">s{seed}<td>{seed}\n' in html for seed in (0, 1, 2, 3)] == [False, True, True, True]


def test_a_layout_that_is_not_the_natural_one_is_told(tmp_path):
    for layout in ("aligned", "padded"):
        synthetic_run(tmp_path, ADD | {"task": "add%7", "encoding": "rotary", "layout": layout}, name=layout)
    page = Report.of([tmp_path]).html()
    assert "trained on D2, rotary positions, padded<" in page and "trained on D2, rotary positions<" in page
    assert "D2, rotary, padded</a>" in page and "D2, rotary</a>" in page


def test_seeds_that_differ_say_so(tmp_path):
    for seed, least in ((1, 1.0), (2, 0.5)):
        config, follows = ADD | {"seed": seed}, lambda domain, least=least: least if domain.length > 2 else 1.0
        synthetic_run(tmp_path, config, name=f"s{seed}", learned=lambda step, digit: 1.0, follows=follows)
    ((row,),) = verdict_tables(shown(tmp_path)).values()
    assert [cell.word for cell in row.cells] == ["holds", "holds", "seeds differ", "seeds differ"]
    assert row.cells[2].agreement == "75.00 (50.00 to 100)"


def test_the_page_is_the_same_every_time_and_names_no_place(folder, html):
    assert replace(Report.of([folder]), written=date.fromisoformat(told_date(html))).html() == html
    assert str(folder) not in html


def told_date(html):
    return re.search(r'<meta name="date" content="([\d-]+)">', html)[1]


def test_the_page_tells_when_and_by_what_it_was_written(folder):
    before = datetime.now(UTC).date()
    page = Report.of([folder]).html()
    assert before <= date.fromisoformat(told_date(page)) <= datetime.now(UTC).date()
    assert f"written {told_date(page)} by lengthwise {lengthwise.__version__}" in page


def test_names_cannot_break_the_page(tmp_path):
    name = "<img src=x>&"
    synthetic_run(tmp_path, ADD, name=name)
    synthetic_run(tmp_path, ADD | {"seed": 1}, name=name + "2")
    page = Report.of([tmp_path]).html()
    assert "<img" not in page and "&lt;img src=x&gt;&amp;2" in page


@pytest.mark.slow
def test_all_of_results_stays_small():
    assert len(Report.of([ROOT / "results"]).html().encode()) < 6.5e6


@pytest.mark.slow
def test_many_runs_stay_small(tmp_path):
    """A hundred runs through training with digits, 50 questions."""
    view = synthetic_run(tmp_path, ADD | {"evaluation": WATCHED}, steps=range(0, 3000, 100))
    config, records = view.config, view.source.records_path.read_bytes()
    for k in range(100):
        copy = tmp_path / f"copy{k}"
        copy.mkdir()
        # A modulus too large to matter: other questions, the same answers.
        changed = config | {"seed": k % 2, "train": "D2" if k < 2 else f"{k // 2}/99*D1+{99 - k // 2}/99*D2"}
        (copy / "config.json").write_text(json.dumps(changed))
        train = str(RunView.of(copy).train)
        (copy / "records.jsonl").write_bytes(records + records.replace(b'"D2"', json.dumps(train).encode()))
    report = Report.of([tmp_path])
    assert len(report.questions) == 50
    assert len(report.html().encode()) < 6.5e6


def test_command(folder, tmp_path, capsys):
    out = tmp_path / "page.html"
    main(["report", str(folder), "--out", str(out), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["report"] == str(out) and len(told["runs"]) == 5 and out.stat().st_size > 1e6
    assert told["verdicts"] == Report.of([folder]).counts


def test_folders_that_cannot_be_shown_are_named_with_the_reason(tmp_path, capsys):
    for name in ("good", "empty", "torn", "directory", "status"):
        synthetic_run(tmp_path, ADD, name=name)
    (tmp_path / "empty" / "records.jsonl").write_text("")
    (tmp_path / "torn" / "records.jsonl").write_text("{}\n")
    (tmp_path / "directory" / "records.jsonl").unlink()
    (tmp_path / "directory" / "records.jsonl").mkdir()
    (tmp_path / "status" / "status.json").write_text("{}")
    (tmp_path / "foreign<b>").mkdir()
    (tmp_path / "foreign<b>" / "config.json").write_text('{"architectures": ["GPT2LMHeadModel"]}')
    whys = {
        "empty": "it has no records yet",
        "torn": "line 1 of records.jsonl is not a record",
        "directory": "it is not a regular file",
        "status": "status.json has no valid status",
        "foreign<b>": "config.json is not a run config: it has no task",
    }
    out = tmp_path / "page.html"
    main(["report", str(tmp_path), "--out", str(out)])
    told, page = capsys.readouterr().out, out.read_text()
    lines = re.findall(r"<li><b>(.*?)</b>: (.*?)</li>", page)
    assert len(lines) == len(whys) == told.count("left out ")
    for name, why in whys.items():
        assert re.search(f"left out {name}: .*{why}", told)
        assert why in dict(lines)[name.replace("<b>", "&lt;b&gt;")]
    assert str(tmp_path) not in page
    shutil.rmtree(tmp_path / "good")
    with pytest.raises(InputError, match=r"nothing to report: directory: .*; empty: it has no records yet; "):
        Report.of([tmp_path])


def test_a_page_on_sound_runs_speaks_of_nothing_else(html):
    assert "Left out" not in html and "Not finished" not in html


@pytest.mark.parametrize("status", ["running", "failed"])
def test_a_run_that_is_not_finished_is_shown_with_its_status(tmp_path, capsys, status):
    """It is shown as of its last whole evaluation: another may be half written."""
    synthetic_run(tmp_path, ADD, name="whole")
    view = synthetic_run(tmp_path, ADD | {"seed": 1}, name="part")
    view.source.append([record_maker(view, 400)("D1", share=0.5)])
    view.source.set_status(status)
    with folder_lock(view.source.path):  # as who trains it does
        main(["report", str(tmp_path), "--out", str(tmp_path / "page.html"), "--json"])
    standing = f"{status}, shown as of step 300"
    assert json.loads(capsys.readouterr().out)["unfinished"] == {"part": standing}
    page = (tmp_path / "page.html").read_text()
    rows = re.findall(r'<tr [^>]*><th scope="row"><a .*?</th>', page)
    assert [f'<small class="standing">{standing}</small>' in row for row in rows] == [False, True]
    assert f"Not finished: part ({standing})." in page and "Not finished: 1 of 2 runs." in page
    part, whole = (run.verdicts for run in Report.of([tmp_path]).runs)
    assert [row.accuracy for row in part] == [row.accuracy for row in whole]


def test_a_setting_without_figures_of_its_own_has_no_box(tmp_path):
    """One evaluation, digits and all else left out: nothing but what stands above for all settings."""
    for dropout in (0.0, 0.5):
        view = synthetic_run(tmp_path, ADD | {"model": {"dropout": dropout}}, name=f"d{dropout}", steps=(300,))
        path, lines = view.source.records_path, view.source.records_path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if '"digit:' not in line))
    page = Report.of([tmp_path]).html()
    assert '<details class="setting">' not in page and page.count("<figure>") == 2


def test_rows_that_were_not_measured_are_not_drawn(tmp_path):
    """Two settings tested on other domains: neither has empty rows for the other's."""
    synthetic_run(tmp_path, ADD, name="long")
    synthetic_run(tmp_path, ADD | {"test": "D1..2", "model": {"dropout": 0.5}}, name="short")
    (question,) = shown(tmp_path)
    rows = {
        setting.runs[0].label: [
            names(plot)
            for seeds in [seeds_of(setting)]
            for plot in (*training_plots(question, seeds), digits_at_the_end(question, seeds))
        ]
        for setting in question.settings
    }
    assert rows == {"short": [["D1", "D2"]] * 3, "long": [["D1", "D2", "D3", "D4"]] * 3}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "no folder"),
        ({}, "no run in"),
        ({"config.json": "{}"}, "it has no task, train, test"),
        ({"config.json": "[]"}, "it has no task, train, test"),
        ({"config.json": CONFIG}, "no records yet"),
        (
            {"config.json": CONFIG.replace('"base": 4', '"base": "four"'), "records.jsonl": RECORD},
            "is not a run config",
        ),
        ({"config.json": CONFIG, "records.jsonl": '{"run": 1}\n'}, "line 1 of"),
        ({"config.json": CONFIG, "records.jsonl": ""}, "no records yet"),
        ({"config.json": "{", "records.jsonl": RECORD}, "cannot read"),
        ({"config.json": '{"task": "add"}', "records.jsonl": RECORD}, "it has no train, test"),
        ({"config.json": CONFIG.replace("add", "div"), "records.jsonl": RECORD}, "unknown operation 'div'"),
        ({"config.json": CONFIG, "records.jsonl": RECORD}, "lines are missing"),
    ],
)
def test_bad_input_is_one_line(tmp_path, capsys, content, complaint):
    place = tmp_path / "run"
    if content is not None:
        place.mkdir()
        for name, text in content.items():
            (place / name).write_text(text)
    with pytest.raises(SystemExit) as stop:
        main(["report", str(place)])
    said = capsys.readouterr().err
    assert stop.value.code == 2 and complaint in said and said.count("\n") == 1


def test_a_file_that_cannot_be_written(folder, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["report", str(folder), "--out", str(tmp_path / "none" / "page.html")])
    assert stop.value.code == 2 and "cannot write" in capsys.readouterr().err
