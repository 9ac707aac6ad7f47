"""The kinds of leaf model, one a file."""
