"""The one place that knows all faculties: it connects the ports of each to another faculty or to a model.

Contains no rule of memory. A faculty never imports another one; everything that passes between them passes here.
"""
