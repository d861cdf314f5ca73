"""Pure functions of the evidence: populations, pairs, gates, decision."""
