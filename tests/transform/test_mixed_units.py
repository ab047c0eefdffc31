from dfjoin.programs.code_operators import Scientific, UnitPart, WeightedSum
from dfjoin.transform.compose.computations import parts_of_units, sums_of_units


def test_texts_of_equally_many_numbers_are_sums():
    assert (WeightedSum("12 1", 1),) in list(sums_of_units(["5'3\"", "6 ft 2 in"]))
    assert next(iter(sums_of_units(["10.0.0.1"]))) == (WeightedSum("16777216 65536 256 1", 1),)
    assert list(sums_of_units(["5'3\"", "6"])) == []


def test_numbers_are_written_in_their_units():
    candidates = list(parts_of_units(["344", "70"], ["5h 44m", "1h 10m"]))
    assert (UnitPart(60, 0),) in candidates
    assert (UnitPart(1, 60),) in candidates
    assert all(step == (UnitPart(60, 0),) or UnitPart(60, 0) != step[0] or len(step) == 2 for step in candidates)


def test_one_number_is_no_evidence_of_units():
    assert list(parts_of_units(["344"], ["5h 44m"])) == []
    assert list(parts_of_units(["344", "70"], ["5h 61m", "1h 10m"])) == []


def test_powers_of_ten_are_written_with_the_digits_of_the_targets():
    assert (Scientific(2, "E+00"),) in list(parts_of_units(["4931"], ["4.93E+03"]))
