"""The verb ``simulators``."""
