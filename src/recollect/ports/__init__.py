"""What a paper may bring: the four ports (design page, "Ports")."""

from recollect.ports.consolidator import Consolidator, Derive, with_jobs
from recollect.ports.encoder import Encoder
from recollect.ports.responder import Event, Follow, Responder, Response, unheard
from recollect.ports.retriever import Retriever

__all__ = [
    "Consolidator",
    "Derive",
    "Encoder",
    "Event",
    "Follow",
    "Responder",
    "Response",
    "Retriever",
    "unheard",
    "with_jobs",
]
