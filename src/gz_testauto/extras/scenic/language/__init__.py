"""The supported part of Scenic's language, and the errors for the other part."""
