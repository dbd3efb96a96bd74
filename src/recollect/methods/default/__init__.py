"""The default recipe's way to an answer: one pass where it suffices, else MemR3's loop or E-mem's segments."""
