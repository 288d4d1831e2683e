"""The one ranking over a chosen set of documents, where a search over everything might not get to them."""

from __future__ import annotations

from collections.abc import Sequence

from everloom.clock import to_micros
from everloom.kernel.journal import access_from
from everloom.kernel.search import Findings, Recipe
from everloom.kernel.search.find import LONGEST_CUE, described, ranked, terms_of
from everloom.kernel.search.gather import Gathered, counted, grouped
from everloom.kernel.search.score import Asked
from everloom.kernel.texts import checked
from everloom.semantic.ground import Ground
from everloom.store.contract import FOREVER


def search_among(ground: Ground, ids: Sequence[int], cue: str, limit: int, recipe: Recipe) -> Findings:
    """Rank these documents by what `cue` touches, strongest first; what it does not touch at all is left out."""
    question = checked(cue, "the question", LONGEST_CUE)
    terms = terms_of(question)
    vectors = ground.embedding.probe(question, ground.workspace.id) if recipe.vectors else None
    with ground.read() as unit:
        probe = ground.embedding.aimed(unit, vectors)
        nearness = unit.similarities(probe, ids) if probe else {}
        rows = [
            row
            for row in unit.all("words.scored_of", ids=list(ids))
            if row["item_id"] in nearness or {*row["words"].split(), *row["context_words"].split()}.intersection(terms)
        ]
        gathered = Gathered(
            rows=rows,
            corpus=counted(unit, terms),
            nearness=nearness,
            accesses={row["item_id"]: access_from(row) for row in unit.all("kernel.access_of", ids=list(ids))},
            covers=grouped(
                (row["item_id"], row["cover_id"]) for row in unit.all("words.cover_of", ids=list(ids), as_of=FOREVER)
            ),
            is_all=True,
        )
        asked = Asked(terms, to_micros(ground.clock.now()))
        return Findings(described(unit, ranked(gathered, asked, limit, recipe), question), probe is not None, None)
