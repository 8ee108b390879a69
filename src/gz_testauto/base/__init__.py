"""Values, errors, files and registries of plug-ins that all other modules use."""
