"""A trial from its set-up to its result: executors, monitor and termination rules."""
