"""Formulas of losses against code written in another way."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax
from scipy.stats import entropy
from torch.nn import functional

from ballotine.students.neural.losses import (
    answer_losses,
    chances,
    divergences,
    generated_loss,
    matching_loss,
    real_loss,
    sharpened,
)

seeds = st.integers(0, 2**32 - 1)
sizes = st.tuples(st.integers(1, 12), st.integers(2, 11))
scales = st.sampled_from([0.1, 1.0, 10.0, 200.0])


def drawn(seed: int, size: tuple[int, int], scale: float = 1.0) -> torch.Tensor:
    numbers = np.random.default_rng(seed).normal(0, scale, size)
    return torch.from_numpy(numbers)


@settings(max_examples=30, deadline=None)
@given(seeds, sizes, scales)
def test_one_more_logit_fixed_at_zero(seed: int, size: tuple[int, int], scale: float) -> None:
    logits = drawn(seed, size, scale)
    longer = torch.cat([logits, torch.zeros(len(logits), 1, dtype=logits.dtype)], dim=1)
    made_up = torch.full((len(logits),), size[1])
    wanted = functional.cross_entropy(longer, made_up)
    torch.testing.assert_close(generated_loss(logits), wanted)
    # That a row is real: the logarithm of the other classes' summed probabilities.
    summed = torch.logsumexp(torch.log_softmax(longer, dim=1)[:, :-1], dim=1)
    torch.testing.assert_close(real_loss(logits), -summed.mean(), atol=1e-9, rtol=1e-7)


@settings(max_examples=20, deadline=None)
@given(seeds, sizes)
def test_given_that_a_row_is_real_its_class_is_a_usual_cross_entropy(
    seed: int, size: tuple[int, int]
) -> None:
    logits = drawn(seed, size)
    codes = torch.from_numpy(np.random.default_rng(seed).integers(0, size[1], size[0]))
    longer = np.column_stack([logits.numpy(), np.zeros(size[0])])
    shares = softmax(longer, axis=1)
    given_real = shares[:, :-1] / (1 - shares[:, -1:])
    wanted = -np.log(given_real[np.arange(size[0]), codes.numpy()])
    np.testing.assert_allclose(answer_losses(logits, codes).numpy(), wanted, rtol=1e-9)


def test_matching_features_reaches_the_generated_ones_only() -> None:
    real = drawn(0, (5, 3)).requires_grad_()
    made = drawn(1, (7, 3)).requires_grad_()
    loss = matching_loss(real, made)
    difference = real.detach().numpy().mean(axis=0) - made.detach().numpy().mean(axis=0)
    assert loss.item() == pytest.approx(float(difference @ difference))
    loss.backward()
    assert real.grad is None
    assert made.grad is not None
    np.testing.assert_allclose(made.grad.numpy(), np.tile(-2 * difference / 7, (7, 1)))


@settings(max_examples=20, deadline=None)
@given(seeds, sizes, st.floats(0, 0.5))
def test_labels_without_an_answer_do_not_count(
    seed: int, size: tuple[int, int], smoothing: float
) -> None:
    draw = np.random.default_rng(seed)
    logits = drawn(seed, size).requires_grad_()
    codes = draw.integers(-1, 2, size)
    found = answer_losses(logits, torch.from_numpy(codes), smoothing)
    wanted = []
    for row, marks in zip(expit(logits.detach().numpy()), codes, strict=True):
        terms = []
        for chance, mark in zip(row, marks, strict=True):
            goal = mark * (1 - smoothing) + smoothing / 2
            if mark >= 0:
                terms.append(-goal * np.log(chance) - (1 - goal) * np.log(1 - chance))
        wanted.append(np.mean(terms) if terms else 0.0)
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-7)
    found.sum().backward()
    assert logits.grad is not None
    assert np.all(logits.grad.numpy()[codes == -1] == 0)


@settings(max_examples=20, deadline=None)
@given(seeds, sizes)
def test_divergence_is_scipys(seed: int, size: tuple[int, int]) -> None:
    first, second = drawn(seed, size), drawn(seed + 1, size)
    wanted = [
        entropy(p, q) for p, q in zip(chances(first, False), chances(second, False), strict=True)
    ]
    np.testing.assert_allclose(divergences(first, second, False).numpy(), wanted, atol=1e-9)
    p, q = expit(first.numpy()), expit(second.numpy())
    labels = (p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean(axis=1)
    np.testing.assert_allclose(divergences(first, second, True).numpy(), labels, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seeds, sizes, st.floats(0.2, 3.0), st.booleans())
def test_sharpening(seed: int, size: tuple[int, int], temperature: float, labels: bool) -> None:
    given_shares = chances(drawn(seed, size), labels)
    found = sharpened(given_shares, temperature, labels)
    # Sharpening divides logits by the temperature.
    wanted = chances(
        (torch.logit(given_shares) if labels else given_shares.log()) / temperature, labels
    )
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(sharpened(given_shares, 1.0, labels), given_shares)
    if not labels:
        torch.testing.assert_close(found.sum(dim=1), torch.ones(size[0], dtype=found.dtype))
        assert torch.equal(found.argmax(dim=1), given_shares.argmax(dim=1))
