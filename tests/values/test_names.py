"""Names of columns: trimmed, on one line, filled, each once."""

from hypothesis import given
from hypothesis import strategies as st

from dfjoin.values.header_meaning import clean_names


@given(st.lists(st.sampled_from(["a", " a ", "a.1", "a.2", "", "b\nc", "Unnamed: 1", "b c"]), max_size=9))
def test_names_are_unique_filled_and_stable(cells):
    names = clean_names(cells)
    assert len(set(names)) == len(names) == len(cells)
    assert all(names)
    assert clean_names(names) == names
    plain = [" ".join(cell.split()) or f"Unnamed: {i}" for i, cell in enumerate(cells)]
    assert all(name == want or name.startswith(f"{want}.") for name, want in zip(names, plain, strict=True))
    assert set(plain) <= set(names)
