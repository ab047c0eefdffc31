import math

import numpy as np
import pytest

from dfjoin.programs.part_operators import Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.transform.evidence.chance import (
    chance_of_match,
    decoys,
    description_bits,
    evidence_bits,
    matching_bits,
    other_digits,
    without_constants,
)
from tests.oracles.transform import binomial_tail


@pytest.mark.parametrize(("k", "n", "p"), [(5, 5, 0.1), (3, 10, 0.05), (40, 100, 0.2), (1, 1, 0.5), (2, 100, 0.001)])
def test_evidence_is_never_more_than_the_binomial_tail_allows(k, n, p):
    assert 0 < evidence_bits(k, n, p) <= -math.log2(binomial_tail(k, n, p)) + 1e-9


@pytest.mark.parametrize(("k", "n", "p"), [(0, 5, 0.1), (0, 0, 0.1), (1, 10, 0.1), (5, 100, 0.1), (5, 5, 1.0)])
def test_no_more_hits_than_expected_are_no_evidence(k, n, p):
    assert evidence_bits(k, n, p) == 0


def test_dense_numbers_match_by_chance():
    assert chance_of_match(["1", "2"], [str(i) for i in range(100)]) == 1
    assert chance_of_match(["1900", "1999"], ["1900", "1999", "5000000"]) == pytest.approx(4 / 100)
    assert chance_of_match(["2024-01-01", "2024-01-08"], ["2024-01-02", "2024-01-04", "x"]) == pytest.approx(4 / 8)


def test_what_a_program_adds_by_itself_is_no_evidence():
    program = Program(("a",), (Constant("No. "), Extract(0), Constant(".csv")))
    assert without_constants(program, ["no. 1.csv", "no. 22.csv", "no. .csv", "3.csv"]) == ["1", "22"]
    assert without_constants(Program.identity("a"), ["x"]) == ["x"]


def test_letters_that_are_written_twice_are_evidence_once():
    rng = np.random.default_rng(3)
    codes = sorted({"".join(rng.choice(list("abcdefghijklmnop"), 3)) for _ in range(400)})
    outputs = [*codes[:3], "qqa", "rrb", "ssc"]
    alone = chance_of_match(outputs, codes)
    twice = [[f"{code[:2]} {code} {code}" for code in some] for some in (outputs, codes)]
    assert chance_of_match(*twice) == alone > 0.05
    others = [f"{code[::-1][:2]} {code}" for code in codes]
    assert chance_of_match([f"{code[::-1][:2]} {code}" for code in outputs], others) < alone
    assert chance_of_match(twice[0], ["aa bcd bcd"]) <= 1e-12, "no target is written so"


def test_long_texts_do_not_match_by_chance_and_short_codes_may():
    rng = np.random.default_rng(0)
    letters = list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    codes = sorted({"".join(rng.choice(letters, 2)) for _ in range(200)})
    texts = ["".join(rng.choice(letters, 12)) for _ in range(200)]
    assert chance_of_match(codes, codes) > 0.05
    assert chance_of_match(texts, texts) < 1e-6


def test_short_codes_may_match_by_chance_where_longer_names_stand_among_them():
    rng = np.random.default_rng(2)
    codes = sorted({"".join(rng.choice(list("abcdefghijklmnop"), 2)) for _ in range(180)})
    names = ["".join(rng.choice(list("abcdefghijklmnop"), 9)) for _ in range(20)]
    outputs = [*codes[::3], "zz", "qx", "yw"]
    alone, among = chance_of_match(outputs, codes), chance_of_match(outputs, [*codes, *names])
    assert among == pytest.approx(alone, rel=0.05) and alone > len(codes) / 16**2


def test_what_two_columns_share_by_chance_is_about_what_is_estimated():
    rng = np.random.default_rng(1)

    def draw(n):
        return sorted({"".join(rng.choice(list("abcde"), 4)) for _ in range(n)})

    outputs, targets = draw(300), draw(100)
    share = len(set(outputs) & set(targets)) / len(outputs)
    assert 0.5 * share < chance_of_match(outputs, targets) < 2 * share


def test_longer_programs_cost_more():
    short = Program.identity("a")
    longer = Program(("a",), (Extract(0, (Split(" ", 0),)), Constant("@x.org")))
    assert description_bits(short) < description_bits(longer)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_results_that_meet_values_of_their_own_are_drawn_without_replacement(n):
    room = 50
    chance = n / room
    exact = 1 / math.comb(room, n)  # all n results are the n targets
    assert matching_bits(n, n, n, chance) == pytest.approx(-math.log2(exact))
    assert matching_bits(0, n, n, chance) == 0
    assert matching_bits(n, n, n, 1.0) == 0
    partly = sum(math.comb(n, k) * math.comb(room - n, n - k) for k in range(3, n + 1)) / math.comb(room, n)
    assert matching_bits(3, n, n, chance) <= -math.log2(partly) + 1


def test_constants_are_compared_with_other_ends_of_the_targets():
    program = Program(("a",), (Extract(0, (Split("-", 0),)), Constant("-1")))
    targets = [f"{word}-{number}" for word in ("ab", "cd", "ef") for number in (1, 2, 3)]
    assert decoys(program, ["ab-1", "xy-1"], targets) == [["ab-2", "xy-2"], ["ab-3", "xy-3"]]
    assert decoys(program, ["ab-1"], ["ab-1"] * 9 + ["ab-2"]) == [], "nearly all targets have it"
    assert decoys(Program(("a",), (Extract(0), Constant("."))), ["ab."], ["ab.", "cd!"]) == [], "no letters"
    start = Program(("a",), (Constant("x1"), Extract(0)))
    assert decoys(start, ["x1a"], ["x1a", "y2a", "y2b", "x1c"]) == [["y2a"]]


def test_digits_within_a_program_are_exchanged_one_at_a_time():
    program = Program(("a",), (Constant("9"), Extract(0), Constant("-19"), Extract(0), Constant("7")))
    texts = [other.pieces[2].text for other in other_digits(program)]
    assert texts == ["-29", "-39", "-69", "-10", "-11", "-14"]
    assert all(other.pieces[:2] == program.pieces[:2] for other in other_digits(program))
    assert other_digits(Program.identity("a")) == []
    many = Program(("a",), (Extract(0), Constant("123456"), Extract(0)))
    assert len(other_digits(many)) == 12, "four digits, three times"
