"""Results as a table and as a self-contained HTML page."""

from mist.report.page import render_page
from mist.report.result_rows import HEADINGS, compare, summarise
from mist.report.section import Section

__all__ = ["HEADINGS", "Section", "compare", "render_page", "summarise"]
