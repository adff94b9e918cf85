"""Discriminators and a generator: who learns from what."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from ballotine.errors import ParameterError
from ballotine.neural import Schedule, make_module
from ballotine.neural.layers import Split
from ballotine.students.neural.gan import GanLearner, Generator
from ballotine.students.neural.learner import LearnerSetting, untracked
from ballotine.students.neural.losses import answer_losses
from ballotine.students.neural.patepp import PatePlus
from ballotine.students.neural.pools import Batch, Pools, draw
from ballotine.students.neural.teaching import Alone, Peers

ROWS = 12


def setting(network: str = "mlp", shape: tuple[int, ...] = (6,)) -> LearnerSetting:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.rand((2 * ROWS, *shape), generator=generator)
    codes = torch.arange(ROWS) % 3
    pools = Pools(inputs, torch.arange(ROWS), codes, torch.arange(ROWS, 2 * ROWS))
    torch.manual_seed(1)
    return LearnerSetting(
        pools, Schedule(2, 6, 0.01), generator, lambda: make_module(network, shape, 3)
    )


def one_batch(given: LearnerSetting) -> Batch:
    return next(draw(given.pools, 6, given.generator))


def weights(module: nn.Module) -> list[torch.Tensor]:
    return [weight.detach().clone() for weight in module.parameters()]


def test_one_step_is_the_step_of_separate_losses() -> None:
    """Nothing is computed twice, and nothing is left out: gradients as in the plain loop."""
    given = setting()
    learner = GanLearner(given, [given.make_net()], Alone(), weight=0.7, width=16)
    net, generator = learner.nets[0], learner.generator
    batch = one_batch(given)
    twin = torch.Generator()
    twin.set_state(given.generator.get_state())
    made = generator.draw(6, twin)

    def z(rows: torch.Tensor) -> torch.Tensor:
        return net(rows).exp().sum(dim=1)

    loss = (
        answer_losses(net(batch.labelled), batch.codes).mean()
        - 0.7 * torch.log(z(batch.unlabelled) / (z(batch.unlabelled) + 1)).mean()
        - 0.7 * torch.log(1 / (z(made.detach()) + 1)).mean()
    )
    wanted = torch.autograd.grad(loss, list(net.parameters()))
    features = nn.Sequential(*list(net)[:-1])
    gap = features(batch.unlabelled).detach().mean(dim=0) - features(made).mean(dim=0)
    generated = torch.autograd.grad((gap**2).sum(), list(generator.parameters()))
    learner.step(batch, 0)
    for weight, gradient in zip(net.parameters(), wanted, strict=True):
        torch.testing.assert_close(weight.grad, gradient, atol=1e-6, rtol=1e-4)
    for weight, gradient in zip(generator.parameters(), generated, strict=True):
        torch.testing.assert_close(weight.grad, gradient, atol=1e-6, rtol=1e-4)


def test_the_generator_matches_both_discriminators() -> None:
    given = setting()
    nets = [given.make_net() for _ in range(2)]
    peers = Peers(ROWS, 0.2, by_disagreement=True)
    learner = GanLearner(given, nets, peers, width=16)
    batch = one_batch(given)
    twin = torch.Generator()
    twin.set_state(given.generator.get_state())
    made = learner.generator.draw(6, twin).detach()
    parts = []
    for net in nets:
        features = nn.Sequential(*list(net)[:-1])
        gap = features(batch.unlabelled).mean(dim=0) - features(made).mean(dim=0)
        parts.append(float((gap**2).sum().detach()))
    assert float(learner.step(batch, 0)["generator"]) == pytest.approx(np.mean(parts), rel=1e-4)


def test_a_batch_without_disagreement_still_teaches_what_is_real() -> None:
    given = setting()
    net = given.make_net()
    same = given.make_net()
    same.load_state_dict(net.state_dict())
    learner = GanLearner(given, [net, same], Peers(ROWS, 0.2, by_disagreement=True), width=16)
    before = weights(net)
    losses = learner.step(one_batch(given), 0)
    assert all(bool(torch.isfinite(loss)) for loss in losses.values())
    assert learner.teaching.end_epoch()[0]["disagreed"] == 0
    assert any(not torch.equal(old, new) for old, new in zip(before, net.parameters(), strict=True))


def test_made_up_rows_stay_within_the_public_range() -> None:
    rows = torch.rand((20, 2, 3)) * torch.tensor([1.0, 50.0, 0.0]) - 3
    made = Generator(rows, width=8).draw(200, torch.Generator().manual_seed(0))
    assert made.shape == (200, 2, 3)
    assert bool((made >= rows.amin(0) - 1e-5).all())
    assert bool((made <= rows.amax(0) + 1e-5).all())


def test_made_up_rows_do_not_enter_running_statistics() -> None:
    net = nn.Sequential(
        nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2)
    ).train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    rows = torch.rand(9, 3)
    with untracked(net, dropout=False):
        assert torch.equal(net(rows), net(rows))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    net(rows)
    assert any(not torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert net[2].training


@pytest.mark.parametrize("network", ["mlp", "linear", "small-cnn", "resnet10"])
def test_features_and_head(network: str) -> None:
    net = make_module(network, (1, 8, 8), 3).eval()
    rows = torch.rand(4, 1, 8, 8)
    features, logits = Split(net)(rows)
    torch.testing.assert_close(logits, net(rows))
    torch.testing.assert_close(net[-1](features), logits)
    wrapped = nn.ModuleDict({"inner": net})
    wrapped.forward = net.forward  # type: ignore[method-assign]
    torch.testing.assert_close(Split(wrapped)(rows)[0], features)


@pytest.mark.parametrize("network", ["small-cnn", "pate-cnn"])
def test_pooling_before_rectifying_changes_no_gradient(network: str) -> None:
    net = make_module(network, (1, 8, 8), 3)
    rows = torch.randn(5, 1, 8, 8, requires_grad=True)
    wanted = torch.autograd.grad(net(rows).square().sum(), [rows, *net.parameters()])
    found = torch.autograd.grad(Split(net)(rows)[1].square().sum(), [rows, *net.parameters()])
    for one, other in zip(wanted, found, strict=True):
        torch.testing.assert_close(one, other)


def test_a_network_needs_a_dense_head() -> None:
    with pytest.raises(ParameterError, match="dense"):
        Split(nn.Sequential(nn.Conv2d(1, 3, 3), nn.Flatten()))


def test_weights_are_not_negative() -> None:
    with pytest.raises(ParameterError, match="unlabelled_weight"):
        PatePlus(unlabelled_weight=-1).fit(np.eye(4), [0, 1, 0, 1])
