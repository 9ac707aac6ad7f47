"""Results as a table and as a self-contained HTML page."""

from mist.report.page import Section, render_page
from mist.report.result_rows import HEADINGS, summarise

__all__ = ["HEADINGS", "Section", "render_page", "summarise"]
