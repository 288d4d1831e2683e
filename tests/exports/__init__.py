"""Tests of exports, imports of them, and moves."""
