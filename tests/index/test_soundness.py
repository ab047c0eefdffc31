"""Arrays that are not what FORMAT.md says are refused, and no mode or change relies on them before."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IndexCorruptedError
from dfjoin.index import components
from dfjoin.index.segment import Segment
from dfjoin.index.soundness import check_entries, check_shapes, entries_of, stretches_of
from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.store.add_groups import _with_signatures

GROUPS = ("TOKENS", "SIGNATURES", "PATTERNS", "VECTORS", "EARLIER_VECTORS", "AXES", "ROWS", "WORD_MODEL")
KNOWN = {"columns": 2, "tokens": 4}


def rows(**changes):
    """A sound group ``rows`` of two columns."""
    arrays = {"row_words": np.zeros(3, "<u8"), "row_starts": np.array([0, 1, 3]), "row_bits": np.zeros(2, "u1")}
    return {**arrays, **changes}


@pytest.mark.parametrize("group", GROUPS)
def test_each_length_follows_from_the_shapes_above_it(group):
    """A sum of lengths has one that is not known yet, so that the order of the table tells all."""
    known = {"columns", "tokens"}
    for name, component in getattr(components, group).items():
        for text in component.shape:
            terms = {term for term in text.split(" + ") if not term.isdecimal()}
            assert len(terms - known) <= 1, (name, text)
            known |= terms
    for name, component in getattr(components, group).items():
        for text in (component.divides, component.below):
            assert {term for term in text.split(" + ") if term} <= known, (name, text)


def test_lengths_are_those_of_the_arrays():
    lengths = check_shapes(rows(), KNOWN, "s1")
    assert lengths == {"columns": 2, "tokens": 4, "words": 3}
    assert (lengths.of("columns + words + 1"), lengths.of("lists"), lengths.of("64")) == (6, None, 64)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"row_words": np.zeros((3, 1), "<u8")}, "component `row_words` of segment s1 is damaged: it has 2 dimensions, not 1"),
        ({"row_bits": np.zeros(3, "u1")}, r"`row_bits` .* it has 3 entries where the other components need 2 \(columns\)"),
        ({"row_starts": np.zeros(0, int)}, r"`row_starts` .* it has 0 entries where the other components need 3 \(col"),
        ({"row_starts": np.array([0, 1, 4])}, "`row_starts` .* it goes from 0 to 4, not from 0 to 3"),
        ({"row_starts": np.array([1, 1, 3])}, "`row_starts` .* it goes from 1 to 3, not from 0 to 3"),
    ],
)  # fmt: skip
def test_shapes_and_ends_that_do_not_fit(changes, text):
    with pytest.raises(IndexCorruptedError, match=text):
        check_shapes(rows(**changes), KNOWN, "s1")


def test_a_length_below_zero_is_refused():
    with pytest.raises(
        IndexCorruptedError, match=r"`group_indptr` .* it has 2 entries where the other components need"
    ):
        check_shapes({"group_indptr": np.zeros(2, int)}, KNOWN, None)


@pytest.mark.parametrize("place", [1, 65_535, 65_536, 65_537, 69_999])
def test_an_offset_that_descends_is_found_wherever_it_is(place):
    offsets = np.arange(70_001)
    lengths = components_lengths(offsets.size - 2, int(offsets[-1]))
    check_entries("row_starts", offsets, lengths, None)
    offsets[place] = offsets[place - 1] - 1
    with pytest.raises(
        IndexCorruptedError, match="component `row_starts` of the index is damaged: its offsets do not asc"
    ):
        check_entries("row_starts", offsets, lengths, None)


def components_lengths(n_columns, n_words):
    starts = np.linspace(0, n_words, n_columns + 2).astype(int)
    arrays = {"row_words": np.zeros(n_words, "<u8"), "row_starts": starts, "row_bits": np.zeros(n_columns + 1, "u1")}
    return check_shapes(arrays, {"columns": n_columns + 1, "tokens": 0}, None)


@pytest.mark.parametrize(("entry", "is_sound"), [(0, True), (3, True), (4, False), (-1, False)])
def test_entries_out_of_their_range(entry, is_sound):
    lengths = check_shapes({"vector_tokens": np.zeros(2, int)}, KNOWN, None)
    array = np.array([entry, 1])
    if is_sound:
        check_entries("vector_tokens", array, lengths, None)
        return
    with pytest.raises(IndexCorruptedError, match=r"its numbers go from -?\d to \d where there are 4 \(tokens\)"):
        check_entries("vector_tokens", array, lengths, None)


def test_stretches_of_a_flat_array():
    starts, lengths = stretches_of(np.array([0, 2, 2, 5]), np.array([2, 0]), 5)
    assert starts.tolist() == [2, 0] and lengths.tolist() == [3, 2]
    assert entries_of(np.array([0, 2, 2, 5]), np.array([4, 3, 2, 1, 0]), np.array([2, 0]), 5).tolist() == [
        2,
        1,
        0,
        4,
        3,
    ]
    assert entries_of(np.array([0]), np.array([], int), np.array([], int), 0).tolist() == []


@pytest.mark.parametrize("offsets", [[0, 6], [-1, 3], [3, 1], [2**62, -(2**62)], [-(2**63), 2**63 - 1], [0, 2**63 - 1]])
def test_stretches_outside_of_the_array(offsets):
    with pytest.raises(DamagedArraysError, match="stretches lie outside"):
        stretches_of(np.array(offsets), np.array([0]), 5)


def test_stretches_that_overlap_would_take_memory_without_bound():
    with pytest.raises(DamagedArraysError, match="stretches lie outside"):
        stretches_of(np.array([0, 5, 0, 5]), np.array([0, 2]), 5)


@pytest.mark.parametrize("entry", [-1, 5])
def test_entries_of_stretches_out_of_their_range(entry):
    with pytest.raises(DamagedArraysError, match="entries are out of their range"):
        entries_of(np.array([0, 1]), np.array([entry]), np.array([0]), 5)


NAMES = [f"{a} {b}" for a in ("north", "south", "old") for b in ("lima", "oslo", "paris", "bergen")]
OPTIONS = {"engine": "inline", "progress": False}
SETTINGS = {"permutations": 8, "signature_min": 2, "patterns": True, "row_signatures": True}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    frames = {"t": pd.DataFrame({"town": NAMES, "n": range(12)}), "u": pd.DataFrame({"name": NAMES[3:], "m": range(9)})}
    return dfjoin.build_lake(frames, tmp_path_factory.mktemp("sound") / "lake", settings=SETTINGS, **OPTIONS)


@pytest.fixture
def damage(sound, tmp_path):
    """Change the entries of a component, plainly: ``damage(name, change)``."""
    import shutil

    def make(name, change):
        shutil.copytree(sound.path, tmp_path / "lake")
        (file,) = (tmp_path / "lake" / "segments").glob(f"*/*/{name}.npy")
        array = np.load(file)
        change(array)
        np.save(file, array)
        return dfjoin.open_lake(tmp_path / "lake")

    return make


def far(array):
    array.reshape(-1)[array.size // 2] = np.iinfo(array.dtype).max


def flip(array):
    array.reshape(-1).view(np.uint8)[array.nbytes // 2] ^= 1


@pytest.mark.parametrize("name", ["value_offsets", "group", "list_indptr", "list_columns"])
@pytest.mark.parametrize("how", [{"mode": "fuzzy"}, {"mode": "fuzzy", "is_pairs": True}])
def test_a_fuzzy_search_names_what_is_damaged(damage, name, how):
    lake = damage(name, far)
    with pytest.raises(IndexCorruptedError, match=rf"component `{name}`.* call dfjoin\.repair"):
        hits = pd.DataFrame({"q": NAMES}).discover_joinable("q", lake, mode=how["mode"])
        hits.pairs(0)


@pytest.mark.parametrize("name", ["set_indptr", "set_lists", "group_indptr", "group_tokens", "value_offsets"])
def test_the_pairs_of_a_hit_name_what_is_damaged(damage, sound, name):
    lake = damage(name, lambda array: array.__setitem__(slice(1, -1), array.max() + 9))
    hits = pd.DataFrame({"q": NAMES}).discover_joinable("q", sound, rank="matched")
    hits.explain(0)
    from dfjoin.index.column_values import tokens_of_column, value_of_token

    segment = lake.segments[0]
    with pytest.raises(IndexCorruptedError, match=f"component `.*{name}`.* is damaged"):
        for column in range(segment.n_columns):
            [value_of_token(segment, token) for token in tokens_of_column(segment, column).tolist()]


@pytest.mark.parametrize("name", [*components.TOKENS, *components.SIGNATURES, *components.ROWS])
def test_compaction_refuses_what_it_would_make_permanent(damage, name):
    lake = damage(name, flip)
    lake.add({"v": pd.DataFrame({"name": NAMES[:5]})}, **OPTIONS)
    before = lake.version
    with pytest.raises(
        IndexCorruptedError, match=rf"component `{name}` .* CRC-32 is not the recorded .* dfjoin\.repair"
    ):
        lake.compact(full=True)
    assert dfjoin.open_lake(lake.path).version == before and len(lake.verify()) == 1


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("hash", lambda lake: lake.add_signatures(permutations=16, signature_min=2)),
        ("group_tokens", lambda lake: lake.add_signatures(permutations=16, signature_min=2)),
        ("value_bytes", lambda lake: lake.add_vectors("fasttext", progress=False)),
    ],
)
def test_groups_are_not_added_to_what_is_damaged(damage, name, change):
    lake = damage(name, flip)
    with pytest.raises(
        IndexCorruptedError, match=rf"component `{name}` .* CRC-32 is not the recorded .* dfjoin\.repair"
    ):
        change(lake)
    assert dfjoin.open_lake(lake.path).version == 1


@pytest.mark.parametrize("how", ["descends", "ends elsewhere"])
def test_words_of_a_model_that_lie_outside_of_it(tmp_path, how):
    frames = {"t": pd.DataFrame({"town": NAMES})}
    lake = dfjoin.build_lake(frames, tmp_path / "lake", embedder="fasttext", **OPTIONS)
    (file,) = (lake.path / "models").glob("*/word_offsets.npy")
    offsets = np.load(file)
    offsets[1 if how == "descends" else -1] = 2**40
    np.save(file, offsets)
    with pytest.raises(IndexCorruptedError, match=r"the model of words of the index is damaged.*`word_offsets`"):
        pd.DataFrame({"q": NAMES}).discover_joinable("q", dfjoin.open_lake(lake.path), mode="embedding", radius=0.2)


def test_signatures_of_columns_that_hold_another_number_of_values(sound, tmp_path):
    segment = Segment(sound.path, sound.manifest.segments[0])
    numbers = {**segment.catalog.numbers, "cardinality": segment.catalog.numbers["cardinality"] - 1}
    segment.catalog.__dict__["numbers"] = numbers
    with pytest.raises(
        IndexCorruptedError, match=r"`set_lists` .* it holds another number of values than the catalogue"
    ):
        _with_signatures(segment, sound.settings)


def test_a_search_compares_an_array_once(sound, monkeypatch):
    from dfjoin.index import segment as module

    compared = []
    monkeypatch.setattr(module, "check_entries", lambda name, *_: compared.append(name))
    lake = dfjoin.open_lake(sound.path)
    for _ in range(3):
        lake.segments[0].sound_tokens("group", "list_columns")
    assert compared == ["group", "list_columns"]
