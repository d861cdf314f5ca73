"""The report as one self-contained HTML page: nothing is fetched, everything from data is escaped."""

import re

from jinja2 import Environment, PackageLoader, StrictUndefined

from fairtrial.report.intervals import draw_intervals
from fairtrial.report.svg import draw
from fairtrial.report.visible import visible
from fairtrial.schema.document import Report


def render_html(report: Report) -> str:
    """The report as an HTML page that needs no other file and no network."""
    environment = Environment(
        loader=PackageLoader("fairtrial.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    environment.filters["slug"] = slug
    environment.globals["draw"] = draw
    environment.globals["draw_intervals"] = draw_intervals
    return environment.get_template("report.html.j2").render(report=report)


def slug(title: str) -> str:
    """A title as an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", visible(title).lower()).strip("-") or "part"
