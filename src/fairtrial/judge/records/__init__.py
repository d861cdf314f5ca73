"""Published campaign records: read into rows, every figure derived again, contradictions named. Pure."""
