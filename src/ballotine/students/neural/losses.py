"""Loss functions of students."""

from __future__ import annotations

import torch
from torch.nn import functional

from ballotine.neural.training import MISSING


def answer_losses(
    logits: torch.Tensor, codes: torch.Tensor, smoothing: float = 0.0
) -> torch.Tensor:
    """Return one cross-entropy per row; for several labels the mean over the known ones.

    Args:
        logits: one per class, or per label.
        codes: class numbers, or rows of 0, 1 and MISSING.
        smoothing: the share of each answer that is spread evenly.
    """
    if codes.ndim == 1:
        return functional.cross_entropy(logits, codes, reduction="none", label_smoothing=smoothing)
    known = codes != MISSING
    wanted = codes.clamp(min=0).to(logits.dtype) * (1 - smoothing) + smoothing / 2
    each = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    return (each * known).sum(dim=1) / known.sum(dim=1).clamp(min=1)


def real_loss(logits: torch.Tensor) -> torch.Tensor:
    """Return −log(1 − p(generated)), with K + 1 logits of which the last is fixed at 0.

    With Z = Σ exp(logits) this is −log(Z / (Z + 1)) (Salimans et al. 2016, section 5).
    """
    mass = torch.logsumexp(logits, dim=1)
    return (functional.softplus(mass) - mass).mean()


def generated_loss(logits: torch.Tensor) -> torch.Tensor:
    """Return −log p(generated) = log(Z + 1)."""
    return functional.softplus(torch.logsumexp(logits, dim=1)).mean()


def matching_loss(real: torch.Tensor, generated: torch.Tensor) -> torch.Tensor:
    """Return the squared distance of mean features, with gradients for generated ones only."""
    return (real.detach().mean(dim=0) - generated.mean(dim=0)).square().sum()


def chances(logits: torch.Tensor, multilabel: bool) -> torch.Tensor:
    """Return probabilities of mutually exclusive classes, or of independent labels."""
    return torch.sigmoid(logits) if multilabel else torch.softmax(logits, dim=1)


def divergences(logits: torch.Tensor, other: torch.Tensor, multilabel: bool) -> torch.Tensor:
    """Return KL(p ‖ q) per row; for several labels the mean over them.

    Args:
        logits: of p.
        other: logits of q.
        multilabel: whether there are several labels.
    """
    if multilabel:
        present = functional.logsigmoid(logits), functional.logsigmoid(other)
        absent = functional.logsigmoid(-logits), functional.logsigmoid(-other)
        parts = [p.exp() * (p - q) for p, q in (present, absent)]
        return (parts[0] + parts[1]).mean(dim=1)
    p, q = torch.log_softmax(logits, dim=1), torch.log_softmax(other, dim=1)
    return (p.exp() * (p - q)).sum(dim=1)


def sharpened(probabilities: torch.Tensor, temperature: float, multilabel: bool) -> torch.Tensor:
    """Return p^(1/T), normalised over classes, or for several labels over p and 1 − p."""
    raised = probabilities ** (1 / temperature)
    if multilabel:
        return raised / (raised + (1 - probabilities) ** (1 / temperature))
    return raised / raised.sum(dim=1, keepdim=True)
