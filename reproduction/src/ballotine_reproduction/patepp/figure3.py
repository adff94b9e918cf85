"""Figure 3: how PATE+ trains, and how many answers are wrong where its peers disagree."""

from __future__ import annotations

import numpy as np

from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.patepp import reported
from ballotine_reproduction.patepp.labelling import answered
from ballotine_reproduction.patepp.methods import case
from ballotine_reproduction.patepp.notes import schedule_note
from ballotine_reproduction.patepp.pools import pool_of
from ballotine_reproduction.patepp.trainings import results
from ballotine_reproduction.summary import mean_of
from ballotine_reproduction.table import Row, Table

COLUMNS = (
    "epoch",
    "answers fitted by the first, %",
    "by the second, %",
    "rows in dispute",
    "wrong answers among these, %",
)


def figure3(setting: Setting) -> Table:
    """Curves of PATE+ at the tight budget, means over seeds."""
    pool = pool_of(setting)
    seeds = setting.seed_range()
    cases = [case("PATE+", "tight", seed) for seed in seeds]
    curves = [found.curves for found in results(setting, pool, cases)]
    first, second, disputed, wrong = (
        mean_of([curve[name] for curve in curves])
        for name in ("agreement_1", "agreement_2", "disagreed", "wrong")
    )
    epochs = [float(number) for number in range(1, len(first) + 1)]
    shares = [1 - answered(pool, "tight", s, quick=setting.quick).right for s in seeds]
    overall = 100 * float(np.mean(shares))
    rows: list[Row] = [
        (int(epoch), f"{100 * a:.1f}", f"{100 * b:.1f}", f"{c:.0f}", f"{100 * d:.1f}")
        for epoch, a, b, c, d in zip(epochs, first, second, disputed, wrong, strict=True)
    ]
    fits = [
        Line("first discriminator", epochs, (100 * first).tolist()),
        Line("second discriminator", epochs, (100 * second).tolist(), colour=1),
    ]
    dispute = [Line("rows in dispute", epochs, disputed.tolist())]
    among = [Line("wrong answers", epochs, (100 * wrong).tolist())]
    figures = {
        "fitted": chart({"(a) answers that each discriminator fits": fits}, "epoch", "%"),
        "disputed": chart({"(b) answered rows that the two disagree on": dispute}, "epoch", "rows"),
        "wrong": chart(
            {"(c) wrong answers among rows in dispute": among},
            "epoch",
            "%",
            levels={"among all answers": overall},
        ),
    }
    notes = (
        *pool.notes,
        f"wrong among all answers: {overall:.1f} %",
        "in dispute: rows on which the two differed at least once in that epoch",
        reported.FIGURE3_SAYS,
        schedule_note(setting),
    )
    title = f"Figure 3: PATE+ while it trains, tight budget ({pool.name})"
    return Table(title, COLUMNS, rows, notes, figures)
