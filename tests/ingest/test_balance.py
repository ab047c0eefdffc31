"""Work cut into tasks and segments: everything once, in order, of about equal size."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dfjoin.ingest.balance import estimated_bytes, pack_runs, split_tables
from dfjoin.types import Root, TableSource

ROOT = Root(0, "r", "/r")


def table(number, size, format_="delimited", path="t.csv"):
    return TableSource(f"t{number:04d}", ROOT, path, format_, size, 0)


def test_packed_files_count_for_more():
    plain = estimated_bytes(table(0, 1000))
    assert estimated_bytes(table(0, 0)) > 0
    for format_, path in (("parquet", "t.parquet"), ("delimited", "t.csv.gz"), ("jsonl", "t.jsonl.zst")):
        assert estimated_bytes(table(0, 1000, format_, path)) == plain + 4 * 1000


@given(st.lists(st.integers(0, 1 << 24), max_size=40), st.integers(1, 12))
def test_tables_are_cut_into_stretches(sizes, n_tasks):
    tables = [table(number, size) for number, size in enumerate(sizes)]
    tasks = list(split_tables(iter(tables), sum(map(estimated_bytes, tables)), n_tasks))
    assert [t for task in tasks for t in task] == tables and all(tasks)
    work = [sum(estimated_bytes(t) for t in task) for task in tasks]
    share = max(1, sum(work) / n_tasks)
    largest = max((estimated_bytes(t) for t in tables), default=0)
    assert len(tasks) <= 2 * n_tasks and max(work, default=0) <= 1.5 * share + largest


def test_a_table_above_its_share_is_a_task_of_its_own():
    small, large = 1000, 1 << 30
    tables = [table(0, small), table(1, large), table(2, small)]
    tasks = split_tables(tables, sum(map(estimated_bytes, tables)), 3)
    assert [[t.name for t in task] for task in tasks] == [["t0000"], ["t0001"], ["t0002"]]


@given(st.lists(st.integers(0, 300), max_size=40), st.integers(1, 200))
@example([30, 51, 30], 100)
@example([50, 50, 51], 100)
@example([40, 40, 20, 1], 100)
def test_neighbours_become_one_segment_up_to_the_target(sizes, target):
    groups = pack_runs(sizes, target)
    assert [number for group in groups for number in group] == list(range(len(sizes))) and all(groups)
    for group in groups:
        assert len(group) == 1 or sum(sizes[n] for n in group) <= target
        assert len(group) == 1 or all(sizes[n] <= target // 2 for n in group)
    for left, right in zip(groups, groups[1:], strict=False):
        small = sizes[left[-1]] <= target // 2 and sizes[right[0]] <= target // 2
        assert not small or sum(sizes[n] for n in left) + sizes[right[0]] > target, "both would have been one"


@pytest.mark.parametrize("sizes", [[0], [0, 0], [0, 5], [5, 0]])
@pytest.mark.parametrize("target", [1, 100])
def test_empty_runs_are_packed_too(sizes, target):
    """A run without tokens has the size 0."""
    assert sorted(number for group in pack_runs(sizes, target) for number in group) == list(range(len(sizes)))
