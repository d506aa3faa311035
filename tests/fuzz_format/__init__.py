"""Mutated graph files: no crash, no hang, no memory above a bound, and nothing but GraphFormatError.

corpus     good files of every kind of node and object
mutations  what is done to them: to bytes, to the manifest's structure, to shader code, with checksums put right or not
worker     a process that loads mutated files, with its memory limited
pool       workers that are started again when they die, with a time limit for each file
campaign   many of them; what is found is made small and kept
"""
