"""The command reference, made from the command line itself."""

from fairtrial.cli.app import app


def command_reference() -> str:
    """Every verb with its help, as Markdown."""
    return app.generate_docs(output_format="markdown", recursive=True, usage_name="fairtrial")
