"""Features learnt from public rows alone: they cost no privacy, and both sides may use them."""

from ballotine.features.patches import PatchFeatures

__all__ = ["PatchFeatures"]
