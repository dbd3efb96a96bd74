"""What a paper may bring: the four ports (design page, "Ports")."""

from recollect.ports.encoder import Encoder
from recollect.ports.retriever import Retriever

__all__ = ["Encoder", "Retriever"]
