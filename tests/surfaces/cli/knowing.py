"""Something known, for commands to be tried on, and how to call each command of semantic memory."""

from __future__ import annotations

import json
from pathlib import Path

from tests.surfaces.cli.conftest import opened

# {observation}, {understanding}: ids; {generation}: an open pass; {folder}: where observations.json lies.
KNOWING = {
    "consolidate": "--dry-run",
    "correct": "{observation} Married since May. --reason Dated.",
    "forget": "{observation}",
    "orient": "",
    "recall": "James",
    "remember": "Rust --about James",
    "semantic add-alias": "James Jim",
    "semantic add-perspective": "legal Represent:",
    "semantic add-observations": "{folder}/observations.json",
    "semantic begin-consolidation": "",
    "semantic bring-to-mind": "sailing marriage --session monday",
    "semantic create-subjects": "Brest Bern --tag place --summary Towns.",
    "semantic create-understanding": "Sailor. --about Audrey --summary Sailor. --source {observation}",
    "semantic delete-observations": "{observation} --session monday",
    "semantic describe-session": "Sailing. --session monday",
    "semantic find-similar-subjects": "--min-score 0.1",
    "semantic finish-consolidation": "{generation} Done. --subject James --pair James Audrey",
    "semantic get-consolidation-report": "",
    "semantic get-pending-consolidation": "",
    "semantic get-session-context": "--of monday",
    "semantic get-stats": "",
    "semantic get-subjects": "James Audrey",
    "semantic get-subjects-by-tag": "person",
    "semantic get-understanding-history": "{understanding}",
    "semantic get-understandings": "James",
    "semantic get-worklist": "",
    "semantic list-observations": "James",
    "semantic list-perspectives": "",
    "semantic list-subjects": "--name Ja --limit 5",
    "semantic list-versions": "{understanding}",
    "semantic measure-overlap": "James Audrey",
    "semantic mark-questionable": "{observation} --reason Really?",
    "semantic mark-reviewed": "James",
    "semantic mark-useful": "{observation}",
    "semantic merge-subjects": "James Jams",
    "semantic open-around": "James",
    "semantic open-region": "James --outside Audrey",
    "semantic open-intersection": "James Audrey",
    "semantic orient": "",
    "semantic query-observations": "married James",
    "semantic read-unseen": "James Audrey",
    "semantic recall": "married?",
    "semantic remember": "Rust --about James --kind fact --confidence 0.5",
    "semantic remove-alias": "James Jimmy",
    "semantic reset-seen": "--session monday",
    "semantic search": "married --limit 3 --mode text",
    "semantic sessions": "--active-within-hours 100000",
    "semantic set-structural-understanding": "James Myself.",
    "semantic set-subject-summary": "James Somebody.",
    "semantic set-subject-tags": "James a b",
    "semantic show": "{understanding}",
    "semantic update-understanding": "{understanding} Better. --summary Better.",
    "semantic what-happened": "monday",
}


def known(url: str, folder: Path) -> dict[str, int]:
    """Let a session observe and understand something; give the ids."""
    given = [{"subject_names": ["Boat"], "content": "The boat is blue.", "observed_at": "2026-11-01T00:00:00Z"}]
    (folder / "observations.json").write_text(json.dumps(given))
    with opened(url) as loom:
        mind = loom.workspace("default", session="monday").semantic
        mind.remember(["Jams"], "Jams is a slip of the pen.")
        mind.set_subject_tags("Jams", ["person"])
        begun = mind.begin_consolidation()
        kept = mind.remember(["James", "Audrey"], "James and Audrey are married.", kind="fact")
        mind.add_alias("James", "Jimmy")
        written = mind.create_understanding(["James"], "James is married.", "Married.", seen_through_id=1)
    return {"observation": kept.id, "understanding": written.id, "generation": begun.generation}
