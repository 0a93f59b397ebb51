"""Fuzzing of Rondel with random programs and damaged models; see README.md."""
