"""Records of carry chains and special sets stand beside the others, and change nothing that is shown of these."""

import pytest
from synthetic_runs import record_maker, synthetic_run

from lengthwise.report.figures import FIGURES, draw, save
from lengthwise.report.page import report_html

CONFIG = {
    "task": "add",
    "train": "D2",
    "test": "D1..4",
    "base": 4,
    "evaluation": {"digits": True, "dynamics": True, "chains": True, "sets": ["carry", "lopsided"]},
}
NAME = "dynamics-D2-s0"
"""As the figures look for it."""


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    """The same run twice; the second has records of its strata."""
    plain, more = (synthetic_run(tmp_path_factory.mktemp("runs"), CONFIG, name=NAME) for _ in range(2))
    make = record_maker(more, more.last_step)
    sets = [make(f"D{n}:{name}", share=0.01) for n in (1, 2, 3, 4) for name in ("carry", "lopsided")]
    chains = [
        make(f"D{n}", f"chain:{k}", share=0.02, reference=reference, total=7)
        for n in (2, 3, 4)
        for k in range(n + 1)
        for reference in ("truth", "truncated:2")
    ]
    more.source.append([*sets, *chains])
    return plain, type(more)(more.source)


def test_verdicts_tables_and_page_are_the_same(views):
    plain, more = views
    assert len(more.records) > len(plain.records)
    assert more.verdicts() == plain.verdicts()
    counts = more.final_counts
    assert {key: counts[key] for key in plain.final_counts} == plain.final_counts
    assert report_html([more.source.path]) == report_html([plain.source.path])


def test_figures_are_the_same(views, tmp_path):
    drawn = 0
    for name, figure in FIGURES.items():
        pictures = [draw(figure, [view]) for view in views]
        if pictures[0] is not None:
            files = [save(picture, tmp_path / str(k), name)[0] for k, picture in enumerate(pictures)]
            assert files[0].read_bytes() == files[1].read_bytes(), name
            drawn += 1
    assert drawn >= 3
