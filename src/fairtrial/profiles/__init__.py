"""How each engine is asked, identified and metered, one file an engine. Pure."""
