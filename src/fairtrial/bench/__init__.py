"""Measuring one endpoint, and this machine's own floor."""
