"""Features learnt from public rows only: no privacy cost; teachers and student may use them."""

import ballotine.neural.installed  # noqa: F401 - must be first: reports what to install
from ballotine.features.patches import PatchFeatures

__all__ = ["PatchFeatures"]
