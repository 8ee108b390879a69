"""The supported part of the language Scenic, and errors for unsupported constructs."""
