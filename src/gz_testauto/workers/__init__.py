"""Run the trials of a campaign in this process, in local processes, or with Dask."""
