"""What is on disk: a campaign's directory, manifest, records and recordings."""
