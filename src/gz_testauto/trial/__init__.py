"""One trial from its set-up to its result: who runs it, who watches it, and when it is over."""
