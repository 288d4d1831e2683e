"""Other memories beside this one: the same texts, the same questions, one table. Run: python -m benchmarks.peers"""
