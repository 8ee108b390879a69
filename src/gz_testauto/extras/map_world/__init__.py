"""Results of a campaign in one file with checksums, for other machines and archives."""
