"""The papers: each brings what it needs and knows none of the others."""
