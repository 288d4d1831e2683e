"""Writes a vault as people keep one: nested folders, daily notes, templates, pictures, a canvas, three languages.

Nothing of the package is used, so that the tests prove something about files that it did not write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(40))
_PEOPLE = ("Anna Berg", "Борис Котов", "田中花子", "Jürgen Müller", "Mira", "Олег")
_TOPICS = ("Sailing", "Bread", "Garten", "Огород", "写真", "Chess", "Bücher", "Музыка")
_FIRST = date(2026, 10, 1)


def write_vault(directory: Path) -> dict[str, bytes]:
    """Write the vault, and return the bytes of every file in it."""
    files: dict[str, bytes] = {
        ".obsidian/app.json": b'{"attachmentFolderPath": "attachments"}',
        ".obsidian/workspace.json": b"{}",
        ".obsidian/plugins/note.md": b"# Never a memory\n",
        ".trash/Old idea.md": b"# In the bin\n",
        "node_modules/pkg/README.md": b"# A package\n",
        "Templates/Daily.md": b"---\ntitle: {{date}}\ntags: [daily]\n---\n## Tasks\n",
        "attachments/harbour.png": PICTURE,
        "attachments/chart.pdf": b"%PDF-1.4",
        "Maps/board.canvas": json.dumps({"nodes": [{"type": "file", "file": "Home.md"}]}).encode(),
    }
    texts = {**_named(), **_daily(), **_people(), **_projects()}
    files |= {path: text.encode() for path, text in texts.items()}
    files["Inbox/windows.md"] = "\ufeff---\r\ntags: inbox\r\n---\r\n# Von Windows\r\n\r\nZeile eins.\r\n".encode()
    for path, data in files.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return files


def notes_of(files: Mapping[str, bytes]) -> list[str]:
    """List the files that are memories."""
    left_out = (".obsidian/", ".trash/", "node_modules/", "Templates/")
    return [path for path in files if path.endswith(".md") and not path.startswith(left_out)]


def _named() -> dict[str, str]:
    return {
        "Home.md": "---\naliases: [Start, Начало, 入口]\n---\n# Home\n\n[[Sailing]], [[Projects/Boat/Index|the boat]], "
        "[[田中花子]], [[Борис Котов#Встречи]]\n\n![[harbour.png]]\n\n![[Boat plan]]\n\n[[A note that nobody wrote]]\n",
        "Meeting.md": "---\ntype: meeting\ntitle: Kick-off: the boat\ndate: 2026-10-03\nimportance: 7\n"
        "tags: boat, planning\n---\nWith [[Anna Berg|Anna]]. We chose larch. #decision/wood\n",
        "Recipes/Sourdough.md": "---\ntags:\n\t- bread\n\t- slow\nimportance: high\n---\nFeed it twice. "
        "![](../attachments/chart.pdf)\n\n```dataview\nTABLE rating FROM #recipe\nWHERE file.link = [[Home]]\n```\n\n"
        "`[[Not a link]]` %%[[nor this]]%% #Rezept #123 #ff8800\n",
        "Recipes/Index.md": "# Recipes\n\n- [[Sourdough]]\n- [[Index]]\n",
        "Twice.md": "---\ntitle: First\ntitle: Second\nrating: 4/5\n---\nA key given twice.\n",
        "Quotes.md": "---\nNo fields here\n---\n\nRules above and below.\n",
        "Empty.md": "",
        "日本語/料理.md": "---\ntags: [料理]\nalias: 和食\n---\n出汁をとる。[[田中花子]]と食べた。 #食べ物/和食\n",
        "Заметки/Парус.md": "Как поставить парус. Смотри [[Sailing]] и [[../Home]]. #море\n",
    }


def _daily() -> dict[str, str]:
    days = [_FIRST + timedelta(days=number) for number in range(31)]
    return {
        f"Daily/{day:%Y/%m}/{day}.md": f"## Tasks\n\n- [ ] call [[{_PEOPLE[number % 6]}]]\n\n## Notes\n\n"
        f"Day {number} of autumn; [[{day - timedelta(days=1)}]]. #daily\n"
        for number, day in enumerate(days)
    }


def _people() -> dict[str, str]:
    return {
        f"People/{name}.md": f"---\ntype: person\naliases: {name.split()[0]}\nphone: 0{number}\n---\n"
        f"Interested in [[{_TOPICS[number]}]].\n\n## Встречи\n"
        for number, name in enumerate(_PEOPLE)
    }


def _projects() -> dict[str, str]:
    boat = {
        "Projects/Boat/Index.md": "# Boat\n\nParts: [[Hull]], [[Sails]], [[Boat plan]].\n",
        "Projects/Boat/Hull.md": "Larch on oak. Back to [[Index]].\n",
        "Projects/Boat/Sails.md": "Cotton, from [[Mira]]. See [[./Hull]] and [[Index]].\n",
        "Projects/Boat/Boat plan.md": "---\ncreated: 2026-11-01\nupdated: 2026-11-02\n---\nEight metres.\n",
        "Projects/Garden/Index.md": "# Garden\n\nBeds along the wall. [[Garten]] [[Огород]]\n",
    }
    topics = {f"Topics/{name}.md": f"# {name}\n\nAll about {name}. #topic/{name}\n" for name in _TOPICS}
    return boat | topics
