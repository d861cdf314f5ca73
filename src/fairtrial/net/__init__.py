"""One bounded way to ask a server for a page, below everything that asks."""
