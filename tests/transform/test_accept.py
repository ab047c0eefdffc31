"""Which programs are accepted: outcomes are made of identity programs over columns of long random words."""

from functools import cached_property

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.programs.part_operators import Slice, Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.transform.evidence.outcome import evaluate
from dfjoin.transform.evidence.prepared_columns import Column, as_columns
from dfjoin.transform.evidence.value_pairs import no_pairs
from dfjoin.transform.pairs.accept import accept_programs, as_result, is_consistent, shares_of
from dfjoin.transform.pairs.column_pair import ColumnPair
from dfjoin.transform.pairs.full_columns import FullColumns
from dfjoin.transform.pairs.sides import sample_sides

LETTERS = list("abcdefghijklmnoprstuvw")
WORDS = ["".join(letters) for letters in np.random.default_rng(0).choice(LETTERS, (60, 12))]


def outcome(source, target):
    """The join of two lists by equality."""
    column = Column("a", pa.array(source, pa.string()))
    return evaluate(Program.identity("a"), [column], column, Column("b", pa.array(target, pa.string())).values)


class TestFurtherPrograms:
    """A further program joins the last ten of twenty source rows; the others may be joined already."""

    @cached_property
    def further(self):
        return outcome([*WORDS[40:50], *WORDS[10:20]], WORDS[:20])

    def rows(self, joined):
        """Target numbers that are joined already, by source row."""
        rows = np.full(20, -1, np.int64)
        for row, word in joined.items():
            rows[row] = self.further.target.values().index(word)
        return rows

    def test_new_rows_and_new_values_are_welcome(self):
        assert is_consistent(self.further, self.rows({}))
        assert is_consistent(self.further, self.rows({row: WORDS[row] for row in range(10)}))

    @pytest.mark.parametrize(("n_taken", "expected"), [(0, True), (1, True), (2, False), (10, False)])
    def test_hardly_any_value_may_be_joined_already(self, n_taken, expected):
        taken = {row: WORDS[10 + row] for row in range(n_taken)}
        others = {row: WORDS[row] for row in range(n_taken, 10)}
        assert is_consistent(self.further, self.rows(taken | others)) is expected

    def test_rows_that_both_join_must_agree(self):
        agreeing = {row: WORDS[row] for row in range(10, 18)}
        assert is_consistent(self.further, self.rows(agreeing))
        assert not is_consistent(self.further, self.rows(agreeing | {10: WORDS[0]}))

    def test_two_new_values_are_the_least(self):
        assert is_consistent(self.further, self.rows({row: WORDS[row] for row in range(10, 18)}))
        assert not is_consistent(self.further, self.rows({row: WORDS[row] for row in range(10, 19)}))

    def test_what_chance_explains_is_not_accepted(self):
        digits = outcome([str(i) for i in range(20)], [str(i) for i in range(10, 40)])
        assert not is_consistent(digits, np.full(20, -1, np.int64))


def judged(source, target, learned=(), **given):
    """Accept programs for the columns a and b, of identity and those that are given."""
    tables = as_columns({"a": pa.array(source, pa.string()), "more": pa.array([str(i) for i in range(len(source))])})
    others = as_columns({"b": pa.array(target, pa.string()), "n": pa.array([str(i) for i in range(len(target))])})
    left, right = sample_sides((tables, others), (("a",), given.get("right_on", ())))
    main, wanted = left.full_column("a"), right.full_column("b")
    pair = ColumnPair(left.columns, main, wanted, no_pairs())
    columns = FullColumns(left, right, pair, Program.identity("b"))
    outcomes = [columns.evaluate(program) for program in (*learned, Program.identity("a"))]
    tried = []
    return accept_programs(columns, outcomes, "left_to_right", np.random.default_rng(0), tried), tried


def test_equal_columns_are_accepted():
    accepted, tried = judged(WORDS[:20], WORDS[:20])
    assert (accepted.shares, accepted.quality, tried) == ((1.0, 1.0), 2.0, [])
    result = as_result(accepted, ["x"])
    assert (result.source_columns, result.target_columns, result.tried) == (("a",), ("b",), ("x",))
    assert (result.programs[0].support, result.programs[0].coverage, result.programs[0].precision) == (20, 1.0, 1.0)


def test_a_target_that_is_no_key_is_refused_unless_it_was_named():
    target = [*WORDS[:10], *WORDS[:10]]
    accepted, tried = judged(WORDS[:20], target)
    assert accepted is None
    assert tried == ["a = b: the target is no key (0.50 distinct)"]
    accepted, _ = judged(WORDS[:20], target, right_on=("b",))
    assert accepted.shares == (0.5, 1.0)


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (WORDS[:20], WORDS[20:40], "no program was learned"),
        (WORDS[:20], WORDS[16:36], "a = b: joins 20% and 20% of the values"),
        ([str(i) for i in range(100)], [str(i) for i in range(30, 130)], "a = b: chance may explain it"),
    ],
)
def test_why_programs_are_refused(source, target, reason):
    accepted, tried = judged(source, target)
    assert accepted is None
    assert reason in tried[0]


@pytest.mark.parametrize(("n_shared", "is_accepted"), [(5, False), (6, True)])
def test_a_share_of_both_columns_must_be_joined(n_shared, is_accepted):
    accepted, _ = judged(WORDS[:20], WORDS[20 - n_shared : 40 - n_shared])
    assert (accepted is not None) is is_accepted


@pytest.mark.parametrize(("n_more", "is_accepted"), [(36, True), (37, False)])
def test_the_shares_of_both_columns_must_be_a_half_together(n_more, is_accepted):
    """Four of ten values are joined, and four of forty or of forty-one."""
    more = ["".join(letters) for letters in np.random.default_rng(1).choice(LETTERS, (n_more, 12))]
    accepted, _ = judged(WORDS[:10], [*WORDS[:4], *more])
    assert (accepted is not None) is is_accepted


@pytest.mark.parametrize(("n_shared", "is_accepted"), [(2, False), (3, True)])
def test_a_learned_program_joins_more_values_than_it_was_learned_from(n_shared, is_accepted):
    moved = Program(("a",), (Extract(0, (Slice(1, None),)),))
    accepted, tried = judged([f"x{word}" for word in WORDS[:6]], WORDS[6 - n_shared : 12 - n_shared], [moved])
    assert (accepted is not None) is is_accepted
    assert is_accepted or "joins 2 values, and is learned from as many" in tried[0]


def test_the_first_program_that_passes_is_accepted():
    wrong = Program(("a",), (Extract(0), Constant("!")))
    accepted, tried = judged(WORDS[:20], WORDS[:20], [wrong, wrong])
    assert accepted.outcomes[0].program == Program.identity("a") and tried == [], "what joins nothing is left out"
    assert judged(WORDS[:20], WORDS[20:40], [wrong])[1] == ["a = b: no program was learned"]
    part = Program(("a",), (Extract(0, (Split("a", 0),)),))
    source = [f"{word}a{word}" for word in (w.replace("a", "x") for w in WORDS[:20])]
    accepted, tried = judged(source, [*[s.split("a")[0] for s in source[:4]], *source[4:]], [part])
    assert accepted.outcomes[0].program == Program.identity("a")
    assert tried == [], "why others were refused is told where none is accepted"


def test_columns_further_right_rank_a_little_lower():
    accepted, _ = judged(WORDS[:20], WORDS[:20])
    first = accepted.rank
    accepted.position = 3
    second = accepted.rank
    accepted.position = 10
    tenth = accepted.rank
    accepted.position = 50
    assert first < second < tenth == accepted.rank


def test_shares_count_each_row_by_its_first_program():
    first, second = outcome(WORDS[:10], WORDS[:4]), outcome([*WORDS[2:10], "x", "y"], WORDS[:4])
    assert shares_of([first]) == (0.4, 1.0)
    assert shares_of([first, first]) == (0.4, 1.0)
    assert second.n_joined == 2


def test_parts_of_both_keys_must_join_more_than_wholes():
    source = [f"{a}-{b}" for a, b in zip(WORDS[:20], WORDS[20:40], strict=True)]
    for n_shared, expected in ((11, False), (12, True)):
        target = [f"{a}/{b}" for a, b in zip(WORDS[20 - n_shared : 40 - n_shared], WORDS[40:60], strict=True)]
        tables = as_columns({"a": pa.array(source)}), as_columns({"b": pa.array(target)})
        left, right = sample_sides(tables, ((), ()))
        part, program = (Program((name,), (Extract(0, (Split(mark, 0),)),)) for name, mark in (("b", "/"), ("a", "-")))
        pair = ColumnPair(left.columns, left.columns[0], Column("b", part.apply([right.columns[0].array])), no_pairs())
        columns = FullColumns(left, right, pair, part)
        accepted = accept_programs(columns, [columns.evaluate(program)], "left_to_right", np.random.default_rng(0), [])
        assert (accepted is not None) is expected, n_shared


def test_equal_values_are_no_relation_where_they_are_few_however_whole_they_are():
    many = ["".join(letters) for letters in np.random.default_rng(1).choice(LETTERS, (400, 12))]
    accepted, tried = judged(many[:200], many[170:370])
    assert accepted is None and "joins 15% and 15% of the values" in tried[0]
    moved = Program(("a",), (Extract(0, (Slice(1, None),)),))
    accepted, _ = judged([f"x{word}" for word in many[:200]], many[170:370], [moved])
    assert accepted is not None
