"""Gates offered to fairtrial through the entry point group ``fairtrial.gates``."""
