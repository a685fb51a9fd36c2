"""The abstract runs of a workflow (E6.4): what they are made of, their moves, their states and the search over them."""
