"""The standard set: scenario classes with fixed worlds, score cards, and their verification."""
