"""A second opinion on every cost: slow, plain, and written without looking at the first.

Output laws come from closed forms or Gauss–Legendre panels, neighbours from enumeration, and
divergences are taken in both directions. Nothing here imports the code that it judges, and
import-linter keeps it so.
"""
