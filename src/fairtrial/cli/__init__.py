"""The command line: doors without logic."""
