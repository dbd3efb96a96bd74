"""The functions that embedders share."""

from __future__ import annotations

import numpy as np

from recollect.models.embedder import Vectors


def normalize_rows(vectors: Vectors) -> Vectors:
    """Scale every row of a float32 matrix to length 1. Rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths == 0] = 1
    units: Vectors = vectors / lengths[:, None]
    return units


def name_with_prompt(model: str, document_prompt: str | None) -> str:
    """Return a model's name with its prompt for documents, because vectors with different prompts cannot be
    compared.
    """
    return f"{model} with {document_prompt!r}" if document_prompt else model
