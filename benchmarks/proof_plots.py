"""Draw the plots of the proof notes: python benchmarks/proof_plots.py [FOLDER]."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from ballotine.privacy import envelope, exact, multilabel, plan, published, smooth, tight
from ballotine.privacy.events import ClippedSum

Array = npt.NDArray[np.float64]
WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 48
COLOURS = ("#4051b5", "#d1495b", "#2e8b57")


@dataclass(frozen=True)
class Axis:
    """Maps numbers to pixels, linearly or by their logarithm."""

    ticks: tuple[float, ...]
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: npt.ArrayLike) -> Array:
        low, high, v = (np.asarray(x, float) for x in (self.ticks[0], self.ticks[-1], value))
        if self.logarithmic:
            low, high, v = np.log(low), np.log(high), np.log(v)
        return np.asarray(self.start + (v - low) / (high - low) * (self.end - self.start))


def text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "#333") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(words)}</text>"


def plot(title: str, label: str, x: Axis, y: Axis, lines: dict[str, tuple[Array, Array]]) -> str:
    """Return one SVG: a grid, the lines and a legend at the top left."""
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        text(LEFT, 22, title, "start", "#111"),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, label),
    ]
    for tick in x.ticks:
        at = float(x.at(tick))
        parts.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e6e6e6"/>')
        parts.append(text(at, HEIGHT - BOTTOM + 16, f"{tick:g}"))
    for tick in y.ticks:
        at = float(y.at(tick))
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#e6e6e6"/>')
        parts.append(text(LEFT - 8, at + 4, f"{tick:g}", "end"))
    for number, (name, (xs, ys)) in enumerate(lines.items()):
        colour = COLOURS[number]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.at(xs), y.at(ys), strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(text(LEFT + 12, TOP + 18 + 16 * number, name, "start", colour))
    return "\n".join([*parts, "</svg>", ""])


def axes(
    x: tuple[float, ...], y: tuple[float, ...], *, logarithmic: bool = False
) -> tuple[Axis, Axis]:
    across = Axis(x, LEFT, WIDTH - RIGHT, logarithmic)
    return across, Axis(y, HEIGHT - BOTTOM, TOP)


def one_bit() -> str:
    lines = {}
    for ratio in (0.02, 0.2, 1.0):
        orders = 1.0 + np.geomspace(0.01, 100.0, 90) / ratio
        share = tight.threshold(orders, 1.0 / ratio) / published.threshold(orders, 1.0 / ratio)
        lines[f"s/σ = {ratio:g}"] = ((orders - 1.0) * ratio, share)
    x, y = axes((0.01, 0.1, 1.0, 10.0, 100.0), (0.6, 0.7, 0.8, 0.9, 1.0), logarithmic=True)
    return plot("One bit: share of α s²/(2σ²) that a check can cost", "(α − 1) s/σ", x, y, lines)


def three_cell() -> str:
    orders = np.geomspace(1.05, 1024.0, 120)
    whole = published.gnmax(orders, 20.0)
    lines = {
        "any number of classes": (orders, tight.gnmax(orders, 20.0) / whole),
        "two classes": (orders, tight.gnmax(orders, 20.0, classes=2) / whole),
    }
    x, y = axes((1.0, 4.0, 16.0, 64.0, 256.0, 1024.0), (0.6, 0.7, 0.8, 0.9, 1.0), logarithmic=True)
    return plot("GNMax at σ = 20: share of α/σ² that an answer can cost", "order α", x, y, lines)


def two_sided() -> str:
    tops, sigma, order = np.arange(32.0, 51.0), 7.0, 4.0
    gaps = 2.0 * tops - 50.0

    def law(gap: Array) -> Array:
        return np.asarray(log_ndtr(np.stack([gap, -gap]) / (sigma * np.sqrt(2.0))))

    p, q = law(gaps - 2.0), law(gaps)
    truth = np.logaddexp.reduce(order * p + (1.0 - order) * q) / (order - 1.0)
    tallies = np.stack([tops, 50.0 - tops], axis=1)
    lines = {}
    for name, both in (("Theorem 6 as published", False), ("largest among neighbours", True)):
        claim = published.gnmax_data_dependent(tallies, [order], sigma, two_sided=both)[:, 0]
        lines[name] = (tops, truth / claim)
    x, y = axes((32.0, 35.0, 38.0, 41.0, 44.0, 47.0, 50.0), (0.0, 0.5, 1.0, 1.5, 2.0))
    title = "True divergence towards the tally, over the claim (above 1: false); σ = 7, α = 4"
    return plot(title, "votes for the top class, of 50 teachers and two classes", x, y, lines)


def private_ttac() -> str:
    multipliers = np.geomspace(2.0, 256.0, 60)
    lines = {}
    for rounds in (1, 10, 100):
        spent = [plan.epsilon_of([(ClippedSum(z), rounds)], 1e-5) for z in multipliers]
        lines[f"{rounds} rounds"] = (multipliers, np.minimum(spent, 8.0))
    x, y = axes((2.0, 8.0, 32.0, 128.0, 256.0), (0.0, 2.0, 4.0, 6.0, 8.0), logarithmic=True)
    return plot("Private TTAC: ε of the rounds at δ = 1e-5", "noise multiplier z", x, y, lines)


def envelopes() -> str:
    teachers, sigma, order = 250, 40.0, 12.0
    tops = np.arange(60.0, 251.0, 5.0)
    whole = float(tight.gnmax([order], sigma)[0])
    proven = envelope.gnmax(teachers, 10, order, sigma)[tops.astype(int)]
    theorem6, truth = [], []
    for top in tops:
        # The most uneven arrangement: the rest in as few classes as can hold it.
        tally = np.zeros(10)
        tally[0], left = top, teachers - top
        for place in range(1, 10):
            tally[place] = min(left, top)
            left -= tally[place]
        truth.append(exact.gnmax(tally, [order], sigma)[0, 0])
        theorem6.append(published.gnmax_data_dependent(tally, [order], sigma)[0, 0])
    lines = {
        "Theorem 6, two-sided, rest in one class": (tops, np.array(theorem6) / whole),
        "envelope: every arrangement of the rest": (tops, proven / whole),
        "exact cost, rest in one class": (tops, np.array(truth) / whole),
    }
    x = Axis((60.0, 100.0, 150.0, 200.0, 250.0), LEFT, WIDTH - RIGHT)
    y = Axis((1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0), HEIGHT - BOTTOM, TOP, logarithmic=True)
    title = "Share of the data-independent cost; n = 250, k = 10, σ = 40, α = 12"
    return plot(title, "votes for the top class", x, y, lines)


def smooth_release() -> str:
    beta, sigma = 0.02, 6.0
    orders = np.linspace(1.5, 22.0, 80)
    printed = orders * np.exp(2 * beta) / sigma**2 + (
        orders * beta - 0.5 * np.log(1 - 2 * orders * beta)
    ) / (orders - 1)
    right = np.array([smooth.smooth_release_cost(order, beta, sigma) for order in orders])
    lines = {"as printed": (orders, printed), "corrected": (orders, np.minimum(right, 2.0))}
    x, y = axes((0.0, 5.0, 10.0, 15.0, 20.0, 25.0), (0.0, 0.5, 1.0, 1.5, 2.0))
    return plot("Cost of a smooth release, β = 0.02, σ = 6", "order α", x, y, lines)


def clipped_ballots() -> str:
    taus = np.linspace(0.2, 6.0, 80)
    lines = {
        "l2: Δ²": (taus, np.array([multilabel.squared_sensitivity(20, t) for t in taus])),
        "l1: Δ²": (taus, np.array([multilabel.squared_sensitivity(20, t, "l1") for t in taus])),
        "τ², as claimed": (taus, np.minimum(taus**2, 24.0)),
    }
    x, y = axes((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (0.0, 6.0, 12.0, 18.0, 24.0))
    return plot("How far one clipped ballot can move 20 counts, squared", "τ", x, y, lines)


PLOTS = {
    "one-bit": one_bit,
    "three-cell": three_cell,
    "two-sided": two_sided,
    "private-ttac": private_ttac,
    "envelope": envelopes,
    "smooth": smooth_release,
    "clipped-ballots": clipped_ballots,
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PLOTS.items():
        path = folder / f"{name}.svg"
        path.write_text(draw(), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/proofs/img"))
