"""Tables for a terminal."""

from rilm_jax import analysis, terminal


def test_a_table_aligns_numbers_to_the_right():
    assert terminal.table(["model", "ppl"], [["unigram", "110.60"], ["bigram", "43.30"]]) == (
        "model       ppl\n"
        "---------------\n"
        "unigram  110.60\n"
        "bigram    43.30"
    )  # fmt: skip


def test_a_table_cuts_its_first_column_to_stay_within_eighty_columns():
    lines = terminal.table(["model", "ppl"], [["x" * 100, "1.00"], ["y", "2.00"]]).splitlines()
    assert [len(line) for line in lines] == [80, 80, 80, 80]
    assert lines[2].endswith("x...  1.00")


def finished(**changes):
    """As much of a summary as is printed."""
    score = {"per_seed": [30.0, 20.0], "mean": 25.0, "std": 7.07107}
    return {
        "config": {"rate_factors": [], "seeds": [42, 43]},
        "floor": {"unigram": 110.6, "unigram_non_unk": None, "kn5": 36.3, "kn5_non_unk": 80.8},
        "params": {"total": 289_025},
        "wall_seconds": 12.3,
        "best_valid_ppl": score,
        "best_valid_ppl_non_unk": score,
        "test_ppl": score | {"per_seed": [None, None], "mean": None, "std": None},
    } | changes


def test_a_summary_is_printed_below_its_floors():
    lines = terminal.summary_table({"hyprilm": finished()}).splitlines()
    assert lines[2].split() == [
        "unigram",
        "110.60",
        "-",
        "-",
    ]  # no target is a word: no floor there
    assert lines[4].split()[:3] == ["hyprilm", "289,025", "25.00"]
    assert lines[4].split()[-2:] == ["-", "12"]


def test_the_floors_of_the_test_split_stand_above_its_column():
    told = finished(test_floor={"unigram": 109.7, "kn5": 35.3})
    lines = terminal.summary_table({"hyprilm": told}).splitlines()
    assert [line.split()[-1] for line in lines[2:4]] == ["109.70", "35.30"]
    assert lines[2].index("109.70") + 6 == lines[0].index("test ppl") + 8


def test_lanes_are_printed_one_by_one():
    lanes = finished(config={"rate_factors": [0.5, 2.0], "seeds": [42, 42]})
    *_, first, second = terminal.summary_table({"hyprilm": lanes}).splitlines()
    assert first.split() == ["seed", "42,", "rate", "x", "0.5", "30.00", "30.00", "-"]
    assert second.split() == ["seed", "42,", "rate", "x", "2", "20.00", "20.00", "-"]


def test_a_word_at_its_context_is_at_distance_zero():
    found = analysis.Candidates(["a", "b"], [0.75, 0.25], [0.0, 1.5], [1.0, 2.0])
    rows = terminal.candidates_table(1, "a", 1.0, found).splitlines()[2:]
    assert rows[0].split() == [">", "a", "0.7500", "0.000", "1.000"]
    told = terminal.candidates_table(1, "a", 1.0, found, 0.125).splitlines()[-1]
    assert told.split() == ["<unk>,", "not", "drawn", "0.1250"]
    nowhere = found._replace(distance=None)
    assert terminal.candidates_table(1, "a", 1.0, nowhere).splitlines()[2].split()[3] == "-"


def test_a_long_name_is_broken_behind_its_commas():
    name = "wikitext2/" + ",".join(f"option={i:04}" for i in range(12))
    lines = terminal.item("  about 3 min    ", name)
    assert all(len(line) <= 80 for line in lines) and len(lines) == 3
    assert "".join(line[17:] for line in lines) == name
    assert terminal.item("label ", "short") == ["label short"]
    assert terminal.item("label ", "x" * 90) == ["label " + "x" * 90]
