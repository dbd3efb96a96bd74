"""E-mem (Wang et al., 2026): segments of the raw log, routing to them, assistants that read them, and one master."""
