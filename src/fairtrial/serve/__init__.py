"""Recipes: how a server is started, proven ready and stopped."""
