"""The measuring client: what is sent, when, and every stamp of the answer."""
