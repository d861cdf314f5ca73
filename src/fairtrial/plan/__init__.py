"""From plan.toml to a frozen plan and its schedule."""
