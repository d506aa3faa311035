"""A few mutated files, and that what should not be would be found. `make fuzz-format N=100000` runs more."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmdgraph import FileLimits
from cmdgraph.container.archive import opened
from cmdgraph.container.manifest import decode
from tests.fuzz_format import corpus as good
from tests.fuzz_format import mutations
from tests.fuzz_format.campaign import Campaign, numbered, smallest
from tests.fuzz_format.corpus import Saved
from tests.fuzz_format.mutations import Recipe, made
from tests.fuzz_format.pool import Worker

FEW, MANY = 100, 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    good.write(folder)
    return folder


@pytest.fixture(scope="module")
def corpus(folder: Path) -> list[Saved]:
    return good.read(folder)


@pytest.fixture
def workers(folder: Path) -> Iterator[list[Worker]]:
    made: list[Worker] = []
    yield made
    for worker in made:
        worker.stop()


def _campaign(workers: list[Worker], corpus: list[Saved], kept: Path, count: int) -> Campaign:
    campaign = Campaign(workers, corpus, kept, seed=7, most_findings=3)
    campaign.run(0, count)
    assert campaign.report()["findings"] == []
    assert campaign.files == count
    assert campaign.outcomes["loaded"] > count // 50
    return campaign


def test_a_few_mutated_files_do_no_harm(
    folder: Path, corpus: list[Saved], workers: list[Worker], tmp_path: Path
) -> None:
    workers.append(Worker("wgpu", folder))
    _campaign(workers, corpus, tmp_path, FEW)


@pytest.mark.long
def test_more_mutated_files_do_no_harm(
    folder: Path, corpus: list[Saved], workers: list[Worker], tmp_path: Path, dawn_device: object
) -> None:
    workers += [Worker("wgpu", folder), Worker("wgpudawn", folder)]
    campaign = _campaign(workers, corpus, tmp_path, MANY)

    assert set(campaign.steps) == {name for name, _, _ in mutations._STEPS}
    assert set(campaign.by) == {"wgpu", "wgpudawn"}


@pytest.mark.long
def test_a_check_that_is_missing_would_be_found(
    folder: Path, corpus: list[Saved], workers: list[Worker], tmp_path: Path
) -> None:
    """Without the limit on nesting the compiler overflows its stack, and the next file gets a new process."""
    recipes = list(itertools.islice(_deep_recipes(corpus), 8))
    workers += [Worker("wgpu", folder, "too_deep"), Worker("wgpu", folder)]

    careless = workers[0].outcomes(recipes)
    careful = workers[1].outcomes(recipes)

    deaths = [outcome for outcome in careless if outcome.startswith("finding: the process ended with -")]
    assert len(deaths) == workers[0].deaths > 0
    assert len(deaths) < len(careless)
    assert {outcome.partition("/code")[0] for outcome in careful} == {"refused /modules/0"}


def _deep_recipes(corpus: list[Saved]) -> Iterator[Recipe]:
    """Recipes for a file whose shader nests far too deep, if it gets so far."""
    (number,) = (n for n, saved in enumerate(corpus) if saved.name == "one")
    (module,) = json.loads(corpus[number].manifest)["modules"]
    for seed in itertools.count():
        rng = random.Random(seed)
        rng.choice([module])
        code = mutations._mutated_code(rng, module["code"])
        if "(" * 4000 in code or "max(1," * 4000 in code:
            yield Recipe(number, (("code", seed),))


def test_the_corpus_has_everything_and_stays_good_without_steps(corpus: list[Saved], tmp_path: Path) -> None:
    kinds: set[str] = set()
    for number in range(len(corpus)):
        path = tmp_path / "graph.zip"
        path.write_bytes(made(Recipe(number, ()), corpus))
        with opened(path, FileLimits()) as archive:
            kinds |= {type(node).__name__ for node in decode(archive.manifest, str(path)).nodes}

    assert kinds == {"Dispatch", "DispatchIndirect", "CopyBuffer", "ClearBuffer", "WriteBuffer"}


def test_the_same_number_gives_the_same_file(corpus: list[Saved]) -> None:
    recipes = [numbered(5, number, corpus) for number in range(60)]

    assert [numbered(5, number, corpus) for number in range(60)] == recipes
    assert [made(recipe, corpus) for recipe in recipes] == [made(recipe, corpus) for recipe in recipes]
    assert len({made(recipe, corpus) for recipe in recipes}) > 50


def test_shrinking_leaves_the_steps_that_matter() -> None:
    recipe = Recipe(0, (("a", 1), ("b", 2), ("c", 3)))

    assert smallest(recipe, lambda r: ("b", 2) in r.steps) == Recipe(0, (("b", 2),))
    assert smallest(recipe, lambda _: False) == recipe
