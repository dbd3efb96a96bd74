"""The parts that responders share: evidence in prompts, and answers with receipts."""
