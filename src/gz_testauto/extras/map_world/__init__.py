"""Conversion of an occupancy map into a world and a campaign."""
