"""Tests of the agent's hands: tools of other programs, and the person's word before they act."""
