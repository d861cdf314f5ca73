"""fairtrial puts a change to an LLM server on trial against the baseline."""

__version__ = "0.1.0"
