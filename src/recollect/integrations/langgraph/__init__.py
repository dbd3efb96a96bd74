"""Use LangGraph's stores under MemR3, a bank as a LangGraph store, and MemR3's controller as a LangGraph graph."""

from recollect.errors import MissingExtra

try:
    from recollect.integrations.langgraph.graph import memr3_graph
    from recollect.integrations.langgraph.retriever import LangGraphRetriever
    from recollect.integrations.langgraph.store import BankStore
except ModuleNotFoundError as exc:
    if exc.name is None or exc.name.partition(".")[0] not in ("langgraph", "langchain_core"):
        raise
    raise MissingExtra("langgraph", "langgraph") from exc

__all__ = ["BankStore", "LangGraphRetriever", "memr3_graph"]
