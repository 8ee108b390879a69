"""Reports of a campaign: tables, files and figures."""
