"""Report the results of a campaign in tables, files and figures."""
