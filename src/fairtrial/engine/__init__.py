"""The reference engine: a small real hybrid model with a two-tier prefix cache."""
