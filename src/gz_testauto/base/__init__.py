"""Basic values, errors, file functions and plug-in registries that all other modules use."""
