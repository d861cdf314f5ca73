"""Counters scraped from servers."""
