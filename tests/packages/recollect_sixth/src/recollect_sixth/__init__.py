"""A sixth paper: sentences kept one by one, a digest of each session, retrieval by shared words, answers that quote."""

from recollect.recipes import Recipe
from recollect_sixth.answer import Quoter
from recollect_sixth.digest import Digester
from recollect_sixth.encode import SentenceEncoder
from recollect_sixth.search import WordRetriever

SIXTH = Recipe(
    name="sixth",
    encode=SentenceEncoder,
    retrieve=WordRetriever,
    consolidate=(Digester,),
    answer=Quoter,
    answers_with_model=False,
)
