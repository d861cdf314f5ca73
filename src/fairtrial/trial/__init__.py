"""The state machine over windows: run, resume, restore."""
