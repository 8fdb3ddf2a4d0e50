"""The stacked optimizer against torch's AdamW and against Muon as written for one matrix, by member."""

import numpy as np
import pytest
import torch

from lengthwise.model.config import ModelConfig
from lengthwise.model.gpt import GPT
from lengthwise.training import TrainingConfig
from lengthwise.training.optimizer import Optimizer, learning_rate_factor, newton_schulz

STEPS = 5
NO_CLIP = 1e30


def build(seeds, **options):
    config = ModelConfig(layers=2, heads=2, width=16, bias=True, tied=False, embedding_std=0.5, **options)
    return GPT(config, "learned", 9, 12, seeds)


def gradients(model, step, seeds):
    """Member k's gradients depend on its seed alone. They grow with the steps; seed 2 has small ones."""
    members = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(1000 * step + seed)
        scale = step * (0.01 if seed == 2 else 1.0)
        members.append([scale * torch.randn(p.shape[1:], generator=generator) for p in model.parameters()])
    return [torch.stack(parts) for parts in zip(*members, strict=True)]


def take_steps(model, config, seeds, factors=None):
    """Yields the model after each step, and the gradients that step was taken with."""
    optimizer = Optimizer(model, [config] * model.members)
    for number in range(1, STEPS + 1):
        given = gradients(model, number, seeds)
        for parameter, gradient in zip(model.parameters(), given, strict=True):
            parameter.grad = gradient.clone()
        norms = optimizer.step(number, 1.0 if factors is None else factors[number - 1])
        assert all(parameter.grad is None for parameter in model.parameters())
        yield given, norms


def is_vector(name):
    return name.endswith("bias") or "norm" in name


def torch_adamw(model, k, config):
    """torch's own optimizer on copies of member k's parameters."""
    own = {name: p[k].detach().clone().requires_grad_() for name, p in model.named_parameters()}
    groups = [
        {
            "params": [p for n, p in own.items() if not is_vector(n)],
            "weight_decay": config.weight_decay,
        },
        {"params": [p for n, p in own.items() if is_vector(n)], "weight_decay": 0.0},
    ]
    return own, torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas, eps=1e-8)


@pytest.mark.parametrize("clip", [NO_CLIP, 3.0])
@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
def test_adamw_is_torchs(seeds, clip):
    config = TrainingConfig(optimizer="adamw", learning_rate=0.01, betas=(0.9, 0.99), weight_decay=0.5, clip=clip)
    model = build(seeds)
    references = [torch_adamw(model, k, config) for k in range(len(seeds))]
    factors = [1.0, 0.5, 0.25, 1.0, 0.0]
    for step, (given, norms) in enumerate(take_steps(model, config, seeds, factors)):
        for k, (own, reference) in enumerate(references):
            for parameter, gradient in zip(own.values(), given, strict=True):
                parameter.grad = gradient[k].clone()
            norm = torch.nn.utils.clip_grad_norm_(list(own.values()), clip)
            for group in reference.param_groups:
                group["lr"] = config.learning_rate * factors[step]
            reference.step()
            assert norms[k] == pytest.approx(norm.item(), rel=1e-5)
            for name, parameter in model.named_parameters():
                torch.testing.assert_close(parameter[k], own[name], rtol=1e-6, atol=1e-6, msg=name)


def test_clipping_is_of_each_member_by_itself():
    """The example above has what it needs: beside a member that is clipped, one that is not, and then is."""
    config = TrainingConfig(optimizer="adamw", clip=3.0)
    norms = torch.stack([norms for _, norms in take_steps(build((1, 2)), config, (1, 2))])
    assert (norms[:, 0] > 3).all()
    assert norms[0, 1] < 3 < norms[-1, 1]


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_norms_and_biases_do_not_decay_and_all_else_does(kind):
    model = build((1, 2))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    config = TrainingConfig(optimizer=kind, learning_rate=0.01, muon_learning_rate=0.1, weight_decay=1.0)
    optimizer = Optimizer(model, [config] * model.members)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step(1, 1.0)
    for name, parameter in model.named_parameters():
        muon = kind == "muon" and name.startswith("blocks.")
        share = 1.0 if is_vector(name) else 1 - (0.1 if muon else 0.01)
        torch.testing.assert_close(parameter, share * before[name], rtol=1e-6, atol=1e-7, msg=name)


def polar(matrix, steps=5):
    """Newton-Schulz as Muon's authors state it, in float64, for one matrix of any shape."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = np.asarray(matrix, dtype=np.float64)
    x = x / (np.sqrt((x**2).sum()) + 1e-7)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + b * gram @ x + c * gram @ gram @ x
    return x.T if tall else x


def test_newton_schulz_is_the_published_iteration():
    matrices = torch.randn(4, 8, 24, generator=torch.Generator().manual_seed(1))
    result = newton_schulz(matrices)
    for matrix, own in zip(matrices, result, strict=True):
        np.testing.assert_allclose(own.numpy(), polar(matrix.numpy()), atol=1e-4)


@pytest.mark.parametrize("shape", [(8, 8), (8, 32)])
def test_newton_schulz_keeps_singular_vectors_and_levels_singular_values(shape):
    generator = torch.Generator().manual_seed(2)
    u, _ = torch.linalg.qr(torch.randn(shape[0], shape[0], generator=generator, dtype=torch.float64))
    v, _ = torch.linalg.qr(torch.randn(shape[1], shape[0], generator=generator, dtype=torch.float64))
    values = torch.linspace(1.0, 0.2, shape[0], dtype=torch.float64)
    x = newton_schulz((100 * u * values @ v.mT).unsqueeze(0))[0]
    seen = u.mT @ x @ v
    assert (seen - torch.diag(seen.diag())).abs().max() < 1e-9
    assert seen.diag().min() > 0.6 and seen.diag().max() < 1.3


def muon_reference(start, given, config):
    """One matrix [I, O] by plain Muon with Nesterov momentum; None of the batching."""
    weight, momentum = start.astype(np.float64), np.zeros_like(start, dtype=np.float64)
    for gradient in given:
        momentum = config.muon_momentum * momentum + (1 - config.muon_momentum) * gradient
        ahead = config.muon_momentum * momentum + (1 - config.muon_momentum) * gradient
        update = polar(ahead) * max(1.0, weight.shape[1] / weight.shape[0]) ** 0.5
        weight = weight * (1 - config.muon_learning_rate * config.weight_decay)
        weight = weight - config.muon_learning_rate * update
    return weight


def test_muon_is_muon_and_qkv_is_three_maps():
    seeds = (1, 2)
    config = TrainingConfig(muon_learning_rate=0.1, muon_momentum=0.9, weight_decay=0.5, clip=NO_CLIP)
    model = build(seeds)
    names = [name for name, _ in model.named_parameters()]
    start = {name: p.detach().numpy().copy() for name, p in model.named_parameters()}
    given = [grads for grads, _ in take_steps(model, config, seeds)]
    checked = 0
    for index, name in enumerate(names):
        if not name.startswith("blocks.") or is_vector(name):
            continue
        for k in range(len(seeds)):
            own = [grads[index][k].numpy() for grads in given]
            parts = 3 if "qkv" in name else 1
            columns = np.array_split(np.arange(start[name].shape[-1]), parts)
            expected = [
                muon_reference(start[name][k][:, cut], [g[:, cut] for g in own], config) for cut in columns
            ]
            found = model.get_parameter(name)[k].detach().numpy()
            np.testing.assert_allclose(found, np.concatenate(expected, 1), atol=2e-4, err_msg=name)
            checked += 1
    assert checked == 2 * 2 * 4


@pytest.mark.parametrize("by_place", [False, True])
def test_muon_leaves_embeddings_heads_and_vectors_to_adamw(by_place):
    """And queries and keys that positions alone tell apart: they map nothing."""
    both = {}
    for kind in ("adamw", "muon"):
        model = build((1,), position_waves=by_place, place_attention=by_place)
        config = TrainingConfig(optimizer=kind, learning_rate=0.01, clip=NO_CLIP)
        for _ in take_steps(model, config, (1,)):
            pass
        both[kind] = dict(model.named_parameters())
    for name, parameter in both["adamw"].items():
        same = torch.equal(parameter, both["muon"][name])
        assert same == (is_vector(name) or name.endswith(".qk.weight") or not name.startswith("blocks.")), name


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_a_stack_is_its_members_side_by_side(kind):
    config = TrainingConfig(optimizer=kind, learning_rate=0.01, clip=3.0)
    stack, singles = build((7, 8)), [build((7,)), build((8,))]
    runs = [take_steps(singles[0], config, (7,)), take_steps(singles[1], config, (8,))]
    for _ in zip(take_steps(stack, config, (7, 8)), *runs, strict=True):
        for k, single in enumerate(singles):
            for name, parameter in single.named_parameters():
                torch.testing.assert_close(
                    stack.get_parameter(name)[k], parameter[0], rtol=1e-6, atol=1e-6, msg=name
                )


def test_the_state_is_all_a_step_depends_on():
    config = TrainingConfig(learning_rate=0.01)
    whole, cut = build((1, 2)), build((1, 2))
    for _ in take_steps(whole, config, (1, 2)):
        pass
    first = Optimizer(cut, [config] * cut.members)
    for number in range(1, STEPS + 1):
        if number == 3:
            second = Optimizer(cut, [config] * cut.members)
            for name, tensor in first.state().items():
                assert len(tensor) == 2
                second.state()[name].copy_(tensor)
            first = second
        for parameter, gradient in zip(cut.parameters(), gradients(cut, number, (1, 2)), strict=True):
            parameter.grad = gradient
        first.step(number, 1.0)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), cut.parameters(), strict=True))


@pytest.mark.parametrize(
    ("schedule", "progress", "factor"),
    [
        ("constant", 0.0, 1.0),
        ("constant", 0.9, 1.0),
        ("linear", 0.0, 1.0),
        ("linear", 0.25, 0.75),
        ("linear", 1.0, 0.0),
        ("linear", 1.5, 0.0),
        ("cosine", 0.0, 1.0),
        ("cosine", 0.5, 0.55),
        ("cosine", 1 / 3, 0.1 + 0.9 * 0.75),
        ("cosine", 1.0, 0.1),
        ("cosine", 1.5, 0.1),
    ],
)
def test_schedules(schedule, progress, factor):
    config = TrainingConfig(schedule=schedule, warmup=0)
    assert learning_rate_factor(config, 500, progress) == pytest.approx(factor)


def test_warmup_rises_from_the_first_step_and_joins_the_schedule():
    config = TrainingConfig(schedule="linear", warmup=4)
    found = [learning_rate_factor(config, step, step / 10) for step in range(6)]
    assert found == pytest.approx([0.25, 0.5 * 0.9, 0.75 * 0.8, 0.7, 0.6, 0.5])
