"""REMem: time-aware gists and facts in one graph, and an agent that searches them with tools."""
