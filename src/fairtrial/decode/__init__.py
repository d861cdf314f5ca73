"""Bytes to meaning: HTTP bodies, event streams, Prometheus text. Pure."""
