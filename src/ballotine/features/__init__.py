"""Features learnt from public rows alone: they cost no privacy, and both sides may use them."""

import ballotine.neural.installed  # noqa: F401 - first: it says what to install
from ballotine.features.patches import PatchFeatures

__all__ = ["PatchFeatures"]
