"""What every call of a verb is checked for before it begins: the types that the verb declares, and bounds."""
