import json

import pytest
from pydantic import ValidationError

from lengthwise.records.schema import Record

COUNT = Record(
    run="add-D4-learned-s1",
    seed=1,
    step=100,
    task="add%101",
    base=10,
    domain="D4[lead>=6]",
    reference="truncated:4",
    correct=99,
    total=100,
    selection="sampled",
    seen=0.25,
)


@pytest.mark.parametrize(
    "record",
    [
        COUNT,
        COUNT.model_copy(update={"metric": "loss", "correct": None, "value": 0.1 + 0.2}),
        COUNT.model_copy(update={"mode": "decoded", "metric": "first_wrong:3", "selection": "given"}),
        COUNT.model_copy(update={"domain": "paires à moi.txt", "selection": "given"}),
    ],
)
def test_a_line_reads_back_as_it_was(record):
    line = record.model_dump_json()
    assert "\n" not in line
    assert Record.model_validate_json(line) == record


def test_fields_are_those_of_the_contract():
    assert json.loads(COUNT.model_dump_json()) == {
        "run": "add-D4-learned-s1",
        "seed": 1,
        "step": 100,
        "task": "add%101",
        "base": 10,
        "domain": "D4[lead>=6]",
        "reference": "truncated:4",
        "mode": "forced",
        "metric": "exact",
        "correct": 99,
        "value": None,
        "total": 100,
        "selection": "sampled",
        "seen": 0.25,
    }


def test_the_reference_is_truth_unless_told():
    content = COUNT.model_dump(exclude={"reference", "mode", "metric", "seen"})
    record = Record(**content)
    assert (record.reference, record.mode, record.metric, record.seen) == ("truth", "forced", "exact", 0.0)


@pytest.mark.parametrize(
    "change", [{"mode": "guessed"}, {"selection": "picked"}, {"note": "?"}, {"total": "many"}, {"seed": None}]
)
def test_nothing_else_is_a_record(change):
    with pytest.raises(ValidationError):
        Record(**{**COUNT.model_dump(), **change})
