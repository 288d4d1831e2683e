"""Commands with which a person decides what counts. Refuses to know how decisions are carried out."""
