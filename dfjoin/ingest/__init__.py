"""From tables to segments: what a build task does, wherever it runs.

`plan` cuts a source into tasks, `task` turns tables into runs, `merge` turns runs into segments, and
`driver` runs these on an engine and commits once. The inline engine is a loop; Spark's is in spark_ext.
"""
