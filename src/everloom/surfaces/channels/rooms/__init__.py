"""The rooms of a gateway: one conversation for each person and each group, and a bounded number of threads for all."""
