"""What the subcommands of ``mist`` do; imported when a command runs, not before."""
