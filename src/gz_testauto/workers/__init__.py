"""Who runs trials side by side: this process, processes of this machine, or a Dask cluster."""
