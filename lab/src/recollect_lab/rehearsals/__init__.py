"""Run recipes over the sample conversation with recorded replies, and compare them."""
