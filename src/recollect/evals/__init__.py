"""The evaluation harness: known questions, put to a bank, scored, with provenance beside every number."""
