"""Measurements that stand beside others: run one by itself, on a quiet machine."""
