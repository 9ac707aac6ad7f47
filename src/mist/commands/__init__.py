"""The work of the subcommands of ``mist``; imported only when a command runs."""
