"""A small directory in the first system's own format, written by hand for the tests."""

from __future__ import annotations

import json
from pathlib import Path

SOLUTION, PROBLEM, PROCEDURE, EDGE = (
    "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
    "def789ab-1111-2222-3333-444455556666",
    "beef0000-1111-2222-3333-444455556666",
    "ed9e0000-1111-2222-3333-444455556666",
)
KEY = "sk-verysecret"

BROKEN = "graph/general/broken-000000.md"
FILES = {
    "graph/solutions/fixed-redis-connection-timeouts-a1b2c3.md": f"""---
id: {SOLUTION}
type: solution
title: "Fixed Redis connection timeouts"
tags: [redis, timeout, production, homelab]
importance: 0.8
confidence: 0.8
created: 2025-12-06T16:25:58+00:00
updated: 2025-12-06T16:25:58+00:00
relations:
  - target: {PROBLEM}
    type: SOLVES
    direction: outgoing
    strength: 0.8
    context: "Keepalive prevents idle disconnections"
    edge_id: {EDGE}
---

Added socket_keepalive=True and socket_timeout=300 to Redis connection configuration.
""",
    "graph/problems/redis-connection-drops-under-load-def789.md": f"""---
id: {PROBLEM}
type: problem
title: "Redis connection drops under load"
tags: "[\\"redis\\", \\"homelab\\"]"
importance: 0.6
created: 2025-12-05T10:00:00+00:00
updated: 2025-12-05T10:00:00+00:00
relations:
  - target: {SOLUTION}
    type: SOLVES
    direction: incoming
    strength: 0.8
    edge_id: {EDGE}
---

Idle connections are dropped.
""",
    "vault/deploy-major-domo-to-production-beef00.md": f"""---
id: {PROCEDURE}
type: procedure
title: "Deploy Major Domo to production"
tags: [major-domo, deploy, docker]
importance: 0.8
confidence: 0.8
steps:
  - "Run tests"
  - "Build docker image"
preconditions:
  - "All tests pass"
postconditions:
  - "Service healthy"
created: 2026-02-13T12:00:00+00:00
updated: 2026-02-13T12:00:00+00:00
---

Standard deploy workflow for the Major Domo Discord bot.
""",
    "graph/edges/fixed-redis--SOLVES--redis-drops-ed9e00.md": f"""---
id: {EDGE}
type: SOLVES
from_id: {SOLUTION}
from_title: "Fixed Redis connection timeouts"
to_id: {PROBLEM}
to_title: "Redis connection drops under load"
strength: 0.8
created: 2025-12-06T16:25:58+00:00
updated: 2025-12-06T16:25:58+00:00
---

The keepalive fix directly resolves the idle disconnection problem.
""",
    BROKEN: "---\nid: 0\ntitle: [unclosed\n---\n\nLeft as it is.\n",
    "episodes/2025-12-13.md": "# 2025-12-13\n\n## 10:30 - Merged two notes\n- **Type:** fix\n- **Summary:** One left\n",
}


def write_sample(directory: Path) -> None:
    """Write the files and the JSON files beside them."""
    for path, text in FILES.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
    state = {"access_count": 5, "last_accessed": "2026-11-13T10:15:00+00:00", "decay_score": 0.75}
    data: dict[str, object] = {
        "_state.json": {"version": 1, "entries": {SOLUTION: state, "nobody": state, "odd": 7}},
        "_index.json": {"version": 2, "entries": {SOLUTION: {}, "lost": {}}, "edges": {}},
        "_embeddings.json": {"model": "nomic-embed-text", "entries": {SOLUTION: [0.5] * 768}},
        "_config.json": {"embedding_provider": "ollama", "ollama_model": "nomic-embed-text", "openai_api_key": KEY},
    }
    for name, content in data.items():
        (directory / name).write_text(json.dumps(content))
