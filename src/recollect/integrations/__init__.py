"""MemR3 over other memories, and banks inside other frameworks.

No module here imports another package before it is used. Each framework has its own module and its own extra.

- :func:`answer_over`: MemR3 over any retriever, without a bank.
- :class:`CallableRetriever`: over a plain function.
- :mod:`recollect.integrations.mem0`, :mod:`~recollect.integrations.chroma`, :mod:`~recollect.integrations.graphiti`:
  retrievers over these packages.
- :mod:`recollect.integrations.langchain`: a retriever over those of LangChain, and a bank as a LangChain retriever.
- :mod:`recollect.integrations.langgraph`: a retriever over LangGraph's stores, a bank as such a store, and MemR3's
  controller as a compiled graph.
"""

from recollect.integrations.answering import answer_over
from recollect.integrations.callable_memory import CallableRetriever
from recollect.integrations.foreign_memory import ForeignBackend, ForeignPiece, ForeignRetriever
from recollect.integrations.metadata_fields import MetadataFields

__all__ = ["CallableRetriever", "ForeignBackend", "ForeignPiece", "ForeignRetriever", "MetadataFields", "answer_over"]
