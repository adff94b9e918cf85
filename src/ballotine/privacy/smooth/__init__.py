"""Smooth sensitivity, and the sanitised release of a data-dependent ε.

A data-dependent cost F is private. To release it with noise one must know how much one teacher can
change it, which depends on the votes too. Two methods exist, each fixed before any vote is seen:

* `SmoothRelease` publishes F + S (Z + z): S is the β-smooth sensitivity, the largest
  e^(−βd) LS_d, with LS_d the most that one teacher can change F from votes d teachers away; Z is
  Gaussian. The margin z scales with the private S, so it is released and priced with it.
* `LogRelease`, for sums of an `envelope` that `envelope.shape` made smooth: one teacher changes
  ln(F + A) by at most the envelope's rate, whatever the votes, so the logarithm is released with
  plain Gaussian noise. Every order works, and the margin is a public factor. Usually better.

F is the sum over queries that were fixed before any answer was seen. It comes from `enumerated`
(envelopes, the check, two-class votes) or `theorem6`, is private, and cannot be printed.

    g = envelope.confident_gnmax(250, 10, 12.0, 40.0, 200.0, 150.0, runner_up=True)
    way = LogRelease(g=envelope.shape(g, 0.03), order=12.0, delta=1e-5, sigma=8.0)
    published = way.release(top_and_runner_up, SecureNoise())

Choose the numbers with `plan_log` or `plan_smooth` from assumed votes, never from the votes
themselves. Proofs: docs/proofs/smooth.md.
"""

from ballotine.privacy.smooth.planning import plan_log, plan_smooth
from ballotine.privacy.smooth.release import (
    LogRelease,
    Sanitised,
    SmoothRelease,
    smooth_release_cost,
)
from ballotine.privacy.smooth.sensitivity import (
    PrivateCost,
    enumerated,
    smooth_sensitivity,
    theorem6,
)

__all__ = [
    "LogRelease",
    "PrivateCost",
    "Sanitised",
    "SmoothRelease",
    "enumerated",
    "plan_log",
    "plan_smooth",
    "smooth_release_cost",
    "smooth_sensitivity",
    "theorem6",
]
