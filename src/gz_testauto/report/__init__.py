"""What a reader gets to see of a campaign: tables, files and pictures."""
