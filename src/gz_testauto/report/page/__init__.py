"""Create the HTML page of a campaign, a single file that can be opened from the disk."""
