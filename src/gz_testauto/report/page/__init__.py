"""The page: a campaign as one HTML file that opens from disk."""
