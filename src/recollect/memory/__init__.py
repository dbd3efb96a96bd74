"""The facade: banks that retain, recall, answer and forget. Only this room and the worker commit."""
