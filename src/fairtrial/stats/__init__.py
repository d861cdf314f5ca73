"""Medians, percentiles and paired effects. Pure."""
