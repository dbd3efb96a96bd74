"""Score one question, and average the scores of many. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect_lab.evals.metrics import compute_ndcg, compute_recall, compute_reciprocal_rank
from recollect_lab.reports.bootstrap import Estimate, estimate_mean

RECALL_CUTS = (5, 10, 25, 50)
NDCG_CUT = 10
SESSION_CUTS = (5, 10)


def score_places(ranked: Sequence[str], gold: frozenset[str], *, depth: int) -> dict[str, float]:
    """Measure a ranking of places. The result is empty if there are no gold places.

    ``depth`` is the number of pieces that were asked for. A measure over more places is left out: with twenty pieces,
    ``recall@50`` would only be ``recall@20`` under another name. ``mrr`` uses the first ``depth`` places.
    """
    if not gold:
        return {}
    scores = {f"recall@{k}": compute_recall(ranked, gold, k) for k in RECALL_CUTS if k <= depth}
    if depth >= NDCG_CUT:
        scores[f"ndcg@{NDCG_CUT}"] = compute_ndcg(ranked, gold, NDCG_CUT)
    return scores | {"mrr": compute_reciprocal_rank(ranked, gold, depth)}


def score_sessions(ranked: Sequence[str], gold: frozenset[str], *, depth: int) -> dict[str, float]:
    """Measure a ranking of sessions in the same way as :func:`score_places` measures one of places."""
    if not gold:
        return {}
    return {f"session_recall@{k}": compute_recall(ranked, gold, k) for k in SESSION_CUTS if k <= depth}


def estimate_metrics(scores: Sequence[Mapping[str, float]]) -> dict[str, Estimate]:
    """Return the mean and the interval of each measure over the questions that have it, in the order of first
    appearance.
    """
    names = dict.fromkeys(name for score in scores for name in score)
    return {name: estimate_mean([score[name] for score in scores if name in score]) for name in names}
