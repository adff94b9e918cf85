"""Reference implementations of every cost: slow, simple, and independent of `privacy`.

Output laws come from closed forms or Gauss–Legendre panels, neighbours from enumeration, and
divergences are taken in both directions. This package does not import the code that it checks;
import-linter enforces that.
"""
