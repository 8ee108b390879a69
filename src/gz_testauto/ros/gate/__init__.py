"""The ``gate`` node: a campaign that is judged, as a rostest."""
