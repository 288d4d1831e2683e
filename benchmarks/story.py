"""The example of docs/episodic.md: the story of the sample workspace, as a picture and in words.

    python benchmarks/story.py FOLDER

Writes `episodic-story.svg` into the folder and prints the story. The sample is made anew as of a fixed day, so that the
picture changes only when the sample or the drawing does.
"""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from everloom.clock import ManualClock  # noqa: E402  the path is set above
from everloom.loom import open_loom  # noqa: E402
from everloom.sample import make_sample  # noqa: E402
from everloom.settings import Settings  # noqa: E402
from everloom.surfaces.cli.render.files import write_story  # noqa: E402
from everloom.surfaces.cli.render.story import story_text  # noqa: E402

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
BEGIN = datetime(2026, 8, 15, tzinfo=UTC)
COLUMNS = 100


def main() -> None:
    """Make the sample, tell its story, and write the picture."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path)
    folder = asked.parse_args().folder
    with TemporaryDirectory() as place:
        # The sample has files of its own, which must not become somebody's.
        os.environ["XDG_DATA_HOME"] = place
        settings = Settings.model_validate(
            {"store": {"url": f"sqlite:///{place}/loom.db"}, "workspace": {"time_zone": "UTC"}}
        )
        sample = make_sample(settings, NOW)
        with open_loom(settings=settings, clock=ManualClock(NOW)) as loom:
            told = loom.workspace(sample.workspace).episodic.story(
                date_from=BEGIN, date_to=NOW, pictures=True, max_tokens=100_000
            )
    file = folder / "episodic-story.svg"
    write_story(told, file)
    # A picture of the documentation is for everybody.
    file.chmod(0o644)
    sys.stdout.writelines(f"{line}\n" for line in story_text(told, COLUMNS, fine=True))


if __name__ == "__main__":
    main()
