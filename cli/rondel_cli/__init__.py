"""The command line of Rondel."""
