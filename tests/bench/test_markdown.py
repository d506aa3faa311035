"""Tables."""

from cmdgraph.bench import markdown


def test_columns_are_padded_and_numbers_stand_to_the_right() -> None:
    text = markdown.table(["strategy", "us"], [["eager", "95.1"], ["single-pass", 1]])

    assert text.splitlines() == [
        "| strategy    |   us |",
        "| ----------- | ---: |",
        "| eager       | 95.1 |",
        "| single-pass |    1 |",
    ]


def test_a_table_without_rows_is_its_header() -> None:
    assert markdown.table(["a"], []).splitlines() == ["| a |", "| - |"]
