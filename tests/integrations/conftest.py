"""Nothing is sent by the frameworks that the tests import."""

from no_telemetry import _no_names_are_looked_up

__all__ = ["_no_names_are_looked_up"]
