"""Cached decoding is plain decoding, faster."""

import pytest
import torch
from fakes import tiny_config

from lengthwise.evaluation import decode
from lengthwise.evaluation.decode import Reading, greedy
from lengthwise.model.config import ModelConfig
from lengthwise.model.gpt import GPT
from lengthwise.model.positions import ENCODINGS
from lengthwise.runs.build import build as build_stack
from lengthwise.runs.load import load

PROMPT, STEPS, ROWS = 5, 6, 11


def build(name, seeds=(1, 2)):
    """Large embeddings and an untied head, so that answers vary."""
    config = ModelConfig.named("nano", embedding_std=1.0, tied=False)
    return GPT(config, name, 16, ROWS, seeds).eval()


def read(prompt, positions, steps, lengths=None, **symbols):
    """By default prompts are as long as they look."""
    lengths = torch.full(prompt.shape[:2], prompt.shape[-1]) if lengths is None else lengths
    return Reading(prompt, positions, steps, lengths, **symbols)


def uncached(model, prompt, positions):
    ids = prompt
    with torch.no_grad():
        for _ in range(STEPS):
            logits = model(ids, positions[..., : ids.shape[-1]])
            ids = torch.cat([ids, logits[:, :, -1:].argmax(-1)], dim=-1)
    return ids[..., PROMPT:]


@torch.no_grad()
def forced(model, sequence, positions):
    return model(sequence[..., :-1], positions[..., :-1], tail=STEPS).argmax(-1)


@pytest.fixture
def prompt():
    return torch.randint(16, (2, 8, PROMPT), generator=torch.Generator().manual_seed(1))


@pytest.fixture
def positions():
    return torch.randint(ROWS, (2, 8, PROMPT + STEPS), generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("name", ENCODINGS)
def test_cached_equals_uncached(name, prompt, positions):
    model = build(name)
    answer = greedy(model, read(prompt, positions, STEPS))
    assert answer.shape == (2, 8, STEPS)
    assert torch.equal(answer, uncached(model, prompt, positions))
    assert len(answer.unique()) > 4


def test_shared_positions(prompt):
    model, shared = build("learned"), torch.arange(PROMPT + STEPS).view(1, 1, -1)
    assert torch.equal(greedy(model, read(prompt, shared, STEPS)), uncached(model, prompt, shared))


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_answer_is_the_argmax_under_teacher_forcing_on_itself(name, prompt, positions):
    model = build(name)
    answer = greedy(model, read(prompt, positions, STEPS))
    sequence = torch.cat([prompt, answer], dim=-1)
    assert torch.equal(forced(model, sequence, positions), answer)


@pytest.mark.parametrize(
    ("layout", "encoding"), [("padded", "learned"), ("reversed", "coupled"), ("plain", "rotary")]
)
def test_a_guess_changes_no_answer(layout, encoding):
    """Right, wrong from some digit on, or nonsense: what is decoded from it is what is decoded without."""
    config = tiny_config(layout=layout, encoding=encoding, model={"embedding_std": 1.0, "tied": False})
    stack = build_stack([config, config.changed(seed=1)], torch.device("cpu"))
    stack.model.eval()
    a, b = torch.randint(3, (2, 2, 12, 3), generator=torch.Generator().manual_seed(3), dtype=torch.int8)
    plain = decode.decode(stack, (a, b))
    own = decode.read_digits(plain, stack.layout).to(torch.int8)
    for wrong in range(own.shape[-1] + 1):
        guess = own.clone()
        guess[:, ::2, wrong:] = 0
        found = decode.decode_from(stack, (a, b), guess)
        assert torch.equal(up_to_end(found, stack), up_to_end(plain, stack))


def up_to_end(answers, stack):
    """With what follows an answer's end blotted out."""
    ends = (answers == stack.layout.vocabulary.eos).long()
    return torch.where(ends.cumsum(-1) - ends > 0, -1, answers)


def test_a_right_guess_is_read_in_one_pass(monkeypatch):
    run = load("addition", device="cpu")
    monkeypatch.setattr(decode, "greedy", lambda *_: pytest.fail("nothing is left to decode"))
    assert run.ask(91234, 85678).answered == 6912


@pytest.mark.parametrize("name", ["learned", "rotary", "coupled"])
def test_prompts_of_unlike_length(name, prompt, positions):
    """Each is answered as it would be alone."""
    model = build(name)
    lengths = torch.tensor([[1, 2, 3, 4, 5, 5, 1, 3], [5, 4, 4, 4, 4, 2, 3, 2]])
    answer = greedy(model, read(prompt, positions, STEPS, lengths=lengths))
    for length in range(1, PROMPT + 1):
        alone = greedy(model, read(prompt[..., :length], positions[..., : length + STEPS], STEPS))
        assert torch.equal(answer[lengths == length], alone[lengths == length])


def test_positions_that_depend_on_what_is_written(prompt, positions):
    model, others, base = build("coupled"), positions.flip(0), 9
    others[..., :PROMPT] = positions[..., :PROMPT]
    answer = greedy(model, read(prompt, positions, STEPS, symbols=others, base=base))
    sequence = torch.cat([prompt, answer], dim=-1)
    own = torch.where(sequence < base, positions, others)
    assert torch.equal(answer[:, :, 0], greedy(model, read(prompt, positions, STEPS))[:, :, 0])
    assert torch.equal(answer, forced(model, sequence, own))
    assert not torch.equal(answer, greedy(model, read(prompt, positions, STEPS)))


def test_a_model_in_training_is_refused(prompt, positions):
    with pytest.raises(AssertionError, match="evaluation mode"):
        greedy(build("learned").train(), read(prompt, positions, STEPS))


def test_positions_cover_prompt_and_answer(prompt, positions):
    with pytest.raises(AssertionError):
        greedy(build("learned"), read(prompt, positions[..., :-1], STEPS))


def test_nothing_is_written_once_all_answers_have_ended(prompt, positions, monkeypatch):
    """Up to the end each answer is what it would have been; after all ends, the end is all there is."""
    monkeypatch.setattr(decode, "LOOK_EVERY", 1)
    model, passes, sooner = build("learned", seeds=(1,)), [], 0
    for row in range(8):
        asked = read(prompt[:1, [row]], positions[:1, [row]], STEPS)
        whole = greedy(model, asked)[0, 0]
        hook = model.register_forward_hook(lambda *_: passes.append(1))
        for end in {3, *whole.tolist()}:
            passes.clear()
            answer = greedy(model, asked, end=end)[0, 0].tolist()
            needed = whole.tolist().index(end) + 1 if end in whole else STEPS
            assert answer == whole.tolist()[:needed] + [end] * (STEPS - needed)
            assert len(passes) == needed
            sooner += needed < STEPS
        hook.remove()
    assert sooner > 8


def test_answers_that_go_on_are_written_to_the_end(prompt, positions, monkeypatch):
    monkeypatch.setattr(decode, "LOOK_EVERY", 1)
    model = build("learned")
    whole = greedy(model, read(prompt, positions, STEPS))
    for end in range(16):
        assert not (whole == end).any(-1).all()
        assert torch.equal(greedy(model, read(prompt, positions, STEPS), end), whole)
