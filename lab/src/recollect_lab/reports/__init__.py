"""Tables, means with intervals, and the provenance of figures."""
