"""What responders share: evidence as a prompt shows it, and an answer with its receipt."""
