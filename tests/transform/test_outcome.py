import numpy as np
import pyarrow as pa
import pytest

from dfjoin.programs.part_operators import Slice, Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.transform.evidence.chance import description_bits
from dfjoin.transform.evidence.outcome import evaluate
from dfjoin.transform.evidence.prepared_columns import Column

WORDS = ["".join(letters) for letters in np.random.default_rng(0).choice(list("abcdefghiklmno"), (40, 12))]


def outcome(source, target, program=None):
    column = Column("a", pa.array(source, pa.string()))
    program = program or Program.identity("a")
    return evaluate(program, [column], column, Column("b", pa.array(target, pa.string())).values)


def test_rows_and_shares_are_those_of_equality():
    found = outcome(["x", None, "y", "x", "z", ""], ["y", "x", "w", "v"])
    names = found.target.values()
    assert [names[i] if i >= 0 else None for i in found.row_targets] == ["x", None, "y", "x", None, None]
    assert (found.n_joined, found.n_target_joined) == (2, 2)
    assert (found.source_coverage, found.target_coverage) == (pytest.approx(2 / 3), 0.5)
    assert found.score == found.source_coverage + found.target_coverage


@pytest.mark.parametrize(("source", "target"), [([], ["a"]), (["a"], []), ([None], [None])])
def test_without_values_nothing_is_joined(source, target):
    found = outcome(source, target)
    assert (found.n_joined, found.source_coverage, found.target_coverage, found.precision) == (0, 0, 0, 0)
    assert found.chance == 1.0
    assert found.bits <= 0


def test_long_words_that_are_equal_are_evidence():
    found = outcome(WORDS[:20], WORDS[:20])
    assert found.chance < 1e-6
    assert found.bits > 100
    assert found.precision == 1.0


def test_source_values_that_meet_in_one_target_value_count_as_wrong_where_chance_may_join():
    first_letter = Program(("a",), (Extract(0, (Slice(0, 1),)),))
    found = outcome([f"{a}{b}" for a in "abcd" for b in "xyz"] + ["nn", "oo", "pp"], list("abcd"), first_letter)
    assert found.n_joined == 12
    assert found.n_target_joined == 4
    assert found.precision < 0.5


def test_a_relation_of_nearly_all_to_some_is_not_wrong():
    every = outcome(
        [word + "1" for word in WORDS] + [word + "2" for word in WORDS],
        WORDS,
        Program(("a",), (Extract(0, (Slice(0, -1),)),)),
    )
    assert every.source_coverage == 1.0
    assert every.precision == 1.0


def test_values_that_hold_more_of_the_target_than_their_result_are_wrong_though_many_share_it():
    last_two = Program(("a",), (Extract(0, (Split(" ", -2),)), Constant(" "), Extract(0, (Split(" ", -1),))))
    pairs = [f"{one} {other}" for one, other in zip(WORDS[:8], WORDS[8:16], strict=True)]
    source = [f"{word} {pair}" for word in WORDS[20:28] for pair in pairs]
    to_parents = outcome(source, pairs, last_two)
    assert (to_parents.n_joined, to_parents.precision) == (64, 1.0)
    cut = outcome(source, [*pairs, *source[:32]], last_two)
    assert (cut.n_joined, cut.precision) == (64, 0.5)


def test_a_word_that_a_value_repeats_is_held_as_often():
    days = [f"2020-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 29)]
    moments = [f"{day} {hour}" for day in days for hour in ("05:45", "06:55", "07:50")]
    found = outcome(moments, days, Program(("a",), (Extract(0, (Slice(0, 10),)),)))
    assert (found.n_joined, found.precision) == (len(moments), 1.0)


def test_results_that_missed_lower_the_precision_where_chance_may_join():
    found = outcome([str(i) for i in range(0, 300, 3)], [str(i) for i in range(0, 300, 2)])
    assert found.precision < 0.9


def test_chance_grows_with_the_number_of_target_values():
    codes = ["".join(letters) for letters in np.random.default_rng(1).choice(list("abcdefgh"), (3000, 5))]
    codes = list(dict.fromkeys(codes))[:2000]
    assert outcome(codes[:20], codes).chance == pytest.approx(4 * outcome(codes[:20], codes[::4]).chance)


def test_the_description_of_the_program_is_subtracted_from_the_evidence():
    longer = Program(("a",), (Extract(0, (Slice(0, None), Slice(0, None))),))
    copied, sliced = outcome(WORDS[:9], WORDS[:9]), outcome(WORDS[:9], WORDS[:9], longer)
    assert copied.bits - sliced.bits == pytest.approx(description_bits(longer) - description_bits(copied.program))
    assert sliced.bits < copied.bits


def test_a_value_is_joined_if_half_of_its_rows_are():
    table = [Column(name, pa.array(texts)) for name, texts in (("a", list("xxxyyz")), ("c", list("123121")))]
    program = Program(("a", "c"), (Extract(0), Extract(1)))
    found = evaluate(program, table, table[0], Column("b", pa.array(["x1", "y2", "z1", "w4"])).values)
    assert (found.row_targets >= 0).tolist() == [True, False, False, False, True, True]
    assert found.n_joined == 2, "a third of the rows of x"


def test_a_digit_within_a_program_that_others_would_replace_is_no_evidence():
    months = [f"{1980 + i // 12}-{i % 12 + 1:02d}-01" for i in range(480)]
    drawn = np.random.default_rng(0).permutation(480)
    source, target = [months[i] for i in drawn[:240]], [months[i] for i in drawn[240:]]
    program = Program(("a",), (Extract(0, (Slice(0, 6),)), Constant("1-"), Extract(0, (Split("-", -1),))))
    found = outcome(source, target, program)
    assert found.chance > 0.4 and found.bits < 0
