"""Numbers as text, and colours that everybody can tell apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from cmdgraph.bench.report.document import Table, plain, prose
from cmdgraph.bench.report.figures import among, number, percent
from cmdgraph.bench.report.plots.style import DARK, LIGHT, colour_of

SERIES = ("naive", "pass", "ahead", "native", "extra", "other")
# How the three kinds of colour blindness see linear RGB (Machado, Oliveira and Fernandes, 2009).
SIGHT = {
    "usual": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.01264, "0.0126"),
        (1.84, "1.84"),
        (9.996, "10.0"),
        (39.28, "39.3"),
        (999.6, "1,000"),
        (12345, "12,300"),
        (-3.127, "-3.13"),
        (1e-7, "0.000000100"),
    ],
)
def test_numbers_have_three_digits_that_mean_something(value: float, text: str) -> None:
    assert number(value) == text


def test_shares_and_lists_read_as_text() -> None:
    assert (percent(0.5312), percent(0.0471)) == ("53 %", "4.71 %")
    assert [among(words) for words in ([], ["a"], ["a", "b", "c"])] == ["", "a", "a, b and c"]


def test_text_of_files_is_escaped_but_for_code() -> None:
    assert plain("a*b `c`\n<d>") == r"a\*b \`c\` \<d\>"
    assert prose("a*b `c_d` e_f") == r"a\*b `c_d` e\_f"


def test_columns_of_numbers_are_found() -> None:
    table = Table.of("", ["a", "b", "c"], [["x", "1,000", "2.5x"], ["y", "-", "53 %"]])

    assert table.numeric == {1, 2}


@pytest.mark.parametrize(("theme", "least"), [(LIGHT, 8.0), (DARK, 8.0)], ids=["light", "dark"])
def test_colours_stay_apart_in_every_kind_of_sight(theme: dict[str, str], least: float) -> None:
    for sight, matrix in SIGHT.items():
        seen = {name: _oklab(np.clip(np.array(matrix) @ _linear(theme[name]), 0, 1)) for name in SERIES}
        for one, other in itertools.combinations(SERIES, 2):
            apart = 100 * np.linalg.norm(seen[one] - seen[other])
            assert apart >= least, f"{one} and {other} are {apart:.1f} apart ({sight})"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_stand_out_from_the_page(theme: dict[str, str]) -> None:
    surface = _luminance(theme["surface"])
    for name, least in {**dict.fromkeys(SERIES, 2.9), "ink": 7, "muted": 4.5}.items():
        light, dark = sorted((_luminance(theme[name]), surface), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= least, name


def test_a_way_has_one_colour_everywhere() -> None:
    assert colour_of("prerecorded-burst-8") == colour_of("paper/prerecorded") == LIGHT["ahead"]
    assert colour_of("eager") == colour_of("single-op") == LIGHT["naive"]
    assert colour_of("anything else") == LIGHT["other"]


def _linear(colour: str) -> np.ndarray:
    values = np.array(to_rgb(colour))
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _luminance(colour: str) -> float:
    return float(_linear(colour) @ [0.2126, 0.7152, 0.0722])


def _oklab(linear: np.ndarray) -> np.ndarray:
    """Ottosson's space, in which equal distances look equally far apart."""
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(lab) @ np.cbrt(np.array(cones) @ linear)
