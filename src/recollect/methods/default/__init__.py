"""The answering of the default recipe: one pass if it suffices, otherwise MemR3's loop or E-mem's segments."""
