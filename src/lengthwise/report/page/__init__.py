"""A report of runs as one HTML page that opens offline."""

from lengthwise.report.page.build import Report, report_html

__all__ = ["Report", "report_html"]
