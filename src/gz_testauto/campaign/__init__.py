"""Run campaigns: generate their worlds, and start, resume and stop them. Run single trials on
request (:class:`~gz_testauto.campaign.trial_runner.TrialRunner`)."""
