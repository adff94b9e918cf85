"""MixMatch, virtual adversarial training and FixMatch: identities of their parts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import beta, kstest
from torch import nn

from ballotine.errors import ParameterError
from ballotine.neural import Schedule, StrongChange, SwapFeatures, make_module
from ballotine.neural.augment import make_augment
from ballotine.students.neural.fixmatch import FixMatch, pseudo_labels
from ballotine.students.neural.learner import LearnerSetting
from ballotine.students.neural.losses import divergences
from ballotine.students.neural.mixmatch import MixMatch, MixMatchLearner, mixed, mixing_shares
from ballotine.students.neural.pools import Pools, draw
from ballotine.students.neural.vat import VAT, adversarial, scaled

seeds = st.integers(0, 2**31 - 1)


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 9))
def test_mixing_row_by_row(seed: int, rows: int) -> None:
    draw = np.random.default_rng(seed)
    first, second = draw.random((2, rows, 2, 3))
    share = draw.random(rows)
    found = mixed(*(torch.from_numpy(part) for part in (first, second, share))).numpy()
    for row in range(rows):
        wanted = share[row] * first[row] + (1 - share[row]) * second[row]
        np.testing.assert_allclose(found[row], wanted)
    ones = torch.ones(rows)
    assert torch.equal(
        mixed(torch.from_numpy(first), torch.from_numpy(second), ones).float(),
        torch.from_numpy(first).float(),
    )


@pytest.mark.parametrize("alpha", [0.3, 0.75, 4.0])
def test_shares_are_folded_beta_variates(alpha: float) -> None:
    shares = mixing_shares(4000, alpha, torch.Generator().manual_seed(7)).double().numpy()
    assert shares.min() >= 0.5
    assert shares.max() <= 1.0

    def law(x: np.ndarray) -> np.ndarray:
        return beta.cdf(x, alpha, alpha) - beta.cdf(1 - x, alpha, alpha)

    assert kstest(shares, law).pvalue > 1e-3
    other = mixing_shares(5, alpha, torch.Generator().manual_seed(7))
    again = mixing_shares(5, alpha, torch.Generator().manual_seed(7))
    assert torch.equal(other, again)


@settings(max_examples=20, deadline=None)
@given(seeds, st.floats(0.1, 5), st.booleans())
def test_the_adversarial_direction(seed: int, length: float, labels: bool) -> None:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(10, 30), nn.Tanh(), nn.Linear(30, 3))
    for layer in net:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=0.5)
    rows, generator = torch.randn(20, 10), torch.Generator().manual_seed(seed)
    logits = net(rows)
    push = adversarial(net, rows, logits, length, generator, rounds=3, multilabel=labels)
    torch.testing.assert_close(push.norm(dim=1), torch.full((20,), length))
    assert all(weight.grad is None for weight in net.parameters())

    def change(step: torch.Tensor) -> float:
        return float(divergences(logits, net(rows + step), labels).mean().detach())

    small = change(scaled(push, 0.1))
    randoms = [change(scaled(torch.randn(20, 10), 0.1)) for _ in range(10)]
    assert small > max(randoms)


def test_more_rounds_find_the_steepest_direction() -> None:
    """Of a linear network, which is known: the first eigenvector of Wᵀ(diag p − p pᵀ)W."""
    torch.manual_seed(0)
    net = nn.Linear(6, 4)
    rows = torch.randn(8, 6)
    logits = net(rows)
    push = adversarial(net, rows, logits, 1.0, torch.Generator().manual_seed(1), rounds=60)
    weight = net.weight.detach().double().numpy()
    for found, row in zip(push.double().numpy(), torch.softmax(logits.double(), 1), strict=True):
        p = row.detach().numpy()
        curvature = weight.T @ (np.diag(p) - np.outer(p, p)) @ weight
        assert abs(found @ np.linalg.eigh(curvature)[1][:, -1]) > 0.99


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_a_step_of_mixing_several_labels_by_hand(seed: int) -> None:
    rows, labels = 5, 3
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.rand(2 * rows, 4)
    codes = torch.randint(-1, 2, (rows, labels))
    pools = Pools(inputs, torch.arange(rows), codes, torch.arange(rows, 2 * rows))
    given_setting = LearnerSetting(
        pools,
        Schedule(4, 5, 1e-3),
        generator,
        lambda: make_module("linear", (4,), labels),
        multilabel=True,
    )
    student = MixMatch(guesses=1, alpha=0.6, temperature=0.4)
    learner = MixMatchLearner(given_setting, student)
    (batch,) = draw(pools, rows, generator)
    twin = torch.Generator()
    twin.set_state(generator.get_state())
    net = learner.nets[0]
    with torch.no_grad():
        chance = torch.sigmoid(net(batch.unlabelled)).double().numpy()
    guess = expit(np.log(chance / (1 - chance)) / 0.4)
    partner = torch.randperm(2 * rows, generator=twin).numpy()
    share = mixing_shares(2 * rows, 0.6, twin).numpy()
    points = batch.inputs.double().numpy()
    wanted = np.concatenate([batch.codes.numpy(), guess])
    unknown = np.concatenate([batch.codes.numpy() == -1, np.zeros_like(guess, dtype=bool)])
    layer = net[-1]
    weight, bias = layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy()
    supervised, unlabelled = [], []
    for row, (other, part) in enumerate(zip(partner, share, strict=True)):
        point = part * points[row] + (1 - part) * points[other]
        for label in range(labels):
            if unknown[row, label] or unknown[other, label]:
                continue
            goal = part * wanted[row, label] + (1 - part) * wanted[other, label]
            found = expit(weight[label] @ point + bias[label])
            if row < rows:
                supervised.append(-goal * np.log(found) - (1 - goal) * np.log(1 - found))
            else:
                unlabelled.append((found - goal) ** 2)
    losses = learner.step(batch, 0)
    mean = np.mean(supervised) if supervised else 0.0
    assert float(losses["labelled"]) == pytest.approx(mean, rel=1e-4, abs=1e-7)
    assert float(losses["unlabelled"]) == pytest.approx(
        np.sum(unlabelled) / (rows * labels), rel=1e-3, abs=1e-7
    )


def test_a_network_that_does_not_care_has_no_direction() -> None:
    net = nn.Linear(4, 2)
    nn.init.zeros_(net.weight)
    rows = torch.randn(3, 4)
    push = adversarial(net, rows, net(rows), 1.0, torch.Generator().manual_seed(0))
    assert bool(torch.isfinite(push).all())


def test_only_what_is_sure_is_a_pseudo_label() -> None:
    chances = torch.tensor([[0.96, 0.03, 0.01], [0.5, 0.3, 0.2], [0.02, 0.02, 0.96]])
    labels, counted = pseudo_labels(chances.log().requires_grad_(), 0.95, multilabel=False)
    assert labels.tolist() == [0, 0, 2]
    assert counted.tolist() == [1, 0, 1]
    assert not counted.requires_grad
    each = torch.logit(torch.tensor([[0.99, 0.5, 0.01], [0.94, 0.96, 0.3]]))
    labels, counted = pseudo_labels(each, 0.95, multilabel=True)
    assert counted.tolist() == [[1, 0, 1], [0, 1, 0]]
    assert labels[counted == 1].tolist() == [1, 0, 1]


@settings(max_examples=20, deadline=None)
@given(seeds, st.floats(0, 1))
def test_swapped_features_come_from_the_same_column(seed: int, share: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.rand((15, 8), generator=generator)
    found = SwapFeatures(share)(rows, generator)
    for column in range(8):
        assert set(found[:, column].tolist()) <= set(rows[:, column].tolist())
    if share == 0:
        assert torch.equal(found, rows)


def test_a_strong_change_covers_a_square() -> None:
    images = torch.ones(50, 2, 20, 20)
    quiet = StrongChange(degrees=0, share=0, contrast=0, covered=0.3)
    found = quiet(images, torch.Generator().manual_seed(1))
    hidden = (found == 0).flatten(1).sum(dim=1)
    assert hidden.tolist() == [2 * 6 * 6] * 50
    assert len({tuple(image.flatten().tolist()) for image in found}) > 10
    loud = StrongChange(degrees=0, share=0, contrast=0.5, covered=0.0)
    factors = loud(images, torch.Generator().manual_seed(1))[:, 0, 0, 0]
    assert float(factors.min()) >= 0.5
    assert float(factors.max()) <= 1.5
    assert len(set(factors.tolist())) > 40


def test_changes_by_name() -> None:
    assert isinstance(make_augment("auto", images=False), SwapFeatures)
    assert make_augment("auto", images=True) is not None
    assert make_augment(None, images=True) is None
    with pytest.raises(ParameterError, match="images"):
        make_augment("rotate-shift", images=False)


@pytest.mark.parametrize(
    "student",
    [
        MixMatch(guesses=0),
        MixMatch(temperature=0),
        MixMatch(alpha=-1),
        MixMatch(ramp_share=2),
        VAT(epsilon=0),
        VAT(rounds=0),
        VAT(entropy_weight=-1),
        FixMatch(threshold=1.5),
        FixMatch(unlabelled_weight=float("nan")),
    ],
)
def test_parameters_have_a_domain(student: VAT) -> None:
    with pytest.raises(ParameterError):
        student.fit(np.eye(4), [0, 1, 0, 1])
