"""Helpers for tests of fairtrial and of its plug-ins."""
