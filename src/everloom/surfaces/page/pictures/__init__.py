"""Pictures as SVG: pure functions from small values to markup, the same picture for the same values each time.

Colours come from classes of the style sheet, so that light and dark both work; every stored text is escaped.
"""
