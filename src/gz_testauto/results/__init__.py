"""The stored results of a campaign: directory, manifest, records and recordings."""
