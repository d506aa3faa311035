"""Looking at a graph: tables, pictures, and the time that each node takes.

`names` says what nodes are called and how they are grouped; `document` gives all there is to know of a program as plain
data; `summary`, `dot` and `page` show it, `dump` writes it to a file. `timing` runs a graph with timestamps and
`profile` is what comes out.
"""
