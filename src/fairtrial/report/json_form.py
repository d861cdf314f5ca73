"""The report as JSON: the document tree itself. Pure."""

from fairtrial.schema.document import Report


def render_json(report: Report) -> str:
    """The document as JSON, indented, without a line end."""
    return report.model_dump_json(by_alias=True, indent=1)
