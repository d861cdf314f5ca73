"""Counters scraped from servers and facts of the host."""
