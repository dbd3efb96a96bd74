"""What a paper may bring: the four ports (design page, "Ports"), and what it may offer beside them."""

from recollect.ports.consolidator import Consolidator, with_jobs
from recollect.ports.encoder import Encoder
from recollect.ports.offers import AgentTools, Beliefs, Calibrator, MakeTools, ToolReply
from recollect.ports.responder import Event, Listener, Responder, Response, ignore_event
from recollect.ports.retriever import Retriever
from recollect.store.optimistic import Derive

__all__ = [
    "AgentTools",
    "Beliefs",
    "Calibrator",
    "Consolidator",
    "Derive",
    "Encoder",
    "Event",
    "Listener",
    "MakeTools",
    "Responder",
    "Response",
    "Retriever",
    "ToolReply",
    "ignore_event",
    "with_jobs",
]
