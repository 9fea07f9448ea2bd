"""Tables in Markdown."""

from rilm_jax import markdown

HEADER, ROWS = ["name", "|h|"], [["a", "1.0"], ["longer", "22.0"]]


def test_a_table_escapes_bars_and_sends_numbers_to_the_right():
    assert markdown.table(HEADER, ROWS, right=["|h|"]) == (
        "| name | \\|h\\| |\n| --- | ---: |\n| a | 1.0 |\n| longer | 22.0 |"
    )


def test_a_padded_table_can_be_read_as_it_stands():
    assert markdown.table(HEADER, ROWS, right=["|h|"], padded=True).splitlines() == [
        "| name   | \\|h\\| |",
        "| ------ | ----: |",
        "| a      |   1.0 |",
        "| longer |  22.0 |",
    ]


def test_words_are_shown_as_they_stand():
    assert markdown.escaped("<unk> *a* [b](c) _d_ `e` \\f") == (
        "\\<unk> \\*a\\* \\[b\\](c) \\_d\\_ \\`e\\` \\\\f"
    )
    assert markdown.escaped("the city 's U.S.") == "the city 's U.S."
