"""Images as the papers split them: MNIST, Fashion-MNIST, and scikit-learn's digits."""

from __future__ import annotations

import numpy as np

from ballotine.data.named import sets as named
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Pool

PUBLIC = 9_000
TITLES = {"fashion-mnist": "Fashion-MNIST", "mnist": "MNIST"}


def load_images(setting: Setting, name: str) -> Pool:
    """Training images are private; of the test images, the first 9,000 are public."""
    found = named.get(name, setting.data, download=not setting.quick)
    assert found.X_test is not None
    assert found.y_test is not None
    X_test, y_test = found.X_test.astype(np.float32), found.y_test.astype(np.int64)
    return Pool(
        TITLES[name],
        found.X.astype(np.float32),
        found.y.astype(np.int64),
        X_test[:PUBLIC],
        y_test[:PUBLIC],
        X_test[PUBLIC:],
        y_test[PUBLIC:],
        (1, 28, 28),
    )


def load_digits(private: int, public: int, note: str) -> Pool:
    """Digits stand in where the images of a paper are missing; the last ones are test rows."""
    found = named.get("digits", None, download=False)
    X, y = found.X.astype(np.float32), found.y.astype(np.int64)
    ends = [private, private + public]
    (X, X_public, X_test), (y, y_public, y_test) = np.split(X, ends), np.split(y, ends)
    return Pool("digits", X, y, X_public, y_public, X_test, y_test, (1, 8, 8), notes=(note,))
