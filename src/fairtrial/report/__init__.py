"""One document tree rendered to terminal, Markdown, HTML and JSON."""
