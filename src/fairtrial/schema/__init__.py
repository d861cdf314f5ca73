"""The vocabulary, the documents and the errors: frozen, strict, pure."""
