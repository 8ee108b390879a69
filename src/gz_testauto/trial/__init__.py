"""Set up and execute single trials: executors, monitor and termination rules."""
