"""What simulators are compared by, each a registered plugin: ``gz_testauto.measures``."""
