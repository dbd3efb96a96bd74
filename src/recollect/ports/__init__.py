"""The four ports, which a paper can implement (design page, "Ports"), and what else a recipe can offer."""

from recollect.ports.consolidator import Consolidator, add_jobs
from recollect.ports.encoder import Encoder
from recollect.ports.offers import AgentTools, Beliefs, Calibrator, MakeTools, ToolReply
from recollect.ports.responder import Listener, Responder, Response, ignore_event
from recollect.ports.retriever import Retriever
from recollect.store.commit_retry import Derive

__all__ = [
    "AgentTools",
    "Beliefs",
    "Calibrator",
    "Consolidator",
    "Derive",
    "Encoder",
    "Listener",
    "MakeTools",
    "Responder",
    "Response",
    "Retriever",
    "ToolReply",
    "add_jobs",
    "ignore_event",
]
