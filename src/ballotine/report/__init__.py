"""The privacy card of a run: as JSON, as Markdown and as an HTML report."""

from __future__ import annotations

from ballotine.report.card import build_card, write_card, write_pages
from ballotine.report.html import render_html
from ballotine.report.markdown import render_markdown

__all__ = ["build_card", "render_html", "render_markdown", "write_card", "write_pages"]
