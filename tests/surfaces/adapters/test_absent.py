"""Without a framework, its adapter says which extra brings it; nothing else loads one."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import importlib, sys
import everloom.loom
frameworks = "agents anthropic claude_agent_sdk google.adk langchain_core langgraph pydantic_ai".split()
assert not set(frameworks) & set(sys.modules), "loaded without being asked for"
sys.modules.update(dict.fromkeys(frameworks))
for module, extra in {
    "adk": "google-adk", "agents": "openai-agents", "anthropic": "anthropic", "claude": "claude-agent",
    "langgraph": "langgraph", "pydantic": "pydantic-ai",
}.items():
    try:
        importlib.import_module(f"everloom.surfaces.adapters.{module}")
    except ModuleNotFoundError as error:
        assert f"everloom[{extra}]" in str(error), error
    else:
        raise AssertionError(module)
"""


def test_an_adapter_without_its_framework_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
