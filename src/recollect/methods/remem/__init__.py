"""REMem: time-aware gists and facts in one graph, and an agent that recollects with tools."""
