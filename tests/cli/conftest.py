"""The fixtures of the command line, shared with the laboratory's tests."""

from command_line import _in_a_folder_of_its_own, chat, cli, filled, process, read, thinking

__all__ = ["_in_a_folder_of_its_own", "chat", "cli", "filled", "process", "read", "thinking"]
