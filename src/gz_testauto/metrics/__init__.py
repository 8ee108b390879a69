"""What a trial was worth: one idea per file, from a recording to a number."""
