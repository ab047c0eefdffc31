"""Where tables come from: listing files, telling their dialect, reading them batch by batch.

`listing` finds tables without opening them, `sniff` tells how a delimited file is written (`encodings`, `header_rows`
and `number_marks` are its parts), `delimited` and `readers` read, `fingerprint` recognises a table that changed.
Nothing here knows of an index.
"""
