"""Strict JSON, canonical bytes, the hash-chained journal and the content-addressed store."""
