"""What a campaign is: frozen, validated, read from YAML with errors that name file and line."""
