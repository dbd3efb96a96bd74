"""What a paper may bring: the four ports (design page, "Ports")."""

from recollect.ports.consolidator import Consolidator, with_jobs
from recollect.ports.encoder import Encoder
from recollect.ports.responder import Event, Follow, Responder, Response, unheard
from recollect.ports.retriever import Retriever
from recollect.store.optimistic import Derive

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
