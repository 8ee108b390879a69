"""All trials of a campaign: its worlds, its beginning, its resumption and its end."""
