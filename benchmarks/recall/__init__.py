"""Invented memories with the questions they answer, and questions they do not answer."""
