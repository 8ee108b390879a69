"""Store and read the results of a campaign: directory, manifest, records and recordings."""
