"""Our verdicts on random programs against wgpu-native's and Dawn's: sound, complete, for the same reason, same bytes.

`make fuzz N=100000` runs more of the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from attrs import evolve
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cmdgraph import validation
from tests.fuzz.campaign import Campaign, new_findings
from tests.fuzz.compare import findings
from tests.fuzz.differences import DIFFERENCES
from tests.fuzz.judge import Answer, Verdict
from tests.fuzz.pool import Pool
from tests.fuzz.programs import Buffer, Program, draw_program, numbered
from tests.fuzz.reasons import reasons_of
from tests.fuzz.shrink import minimal

few = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
BOUNDED = 2000


@pytest.fixture(scope="module")
def pool(dawn_device: object) -> Iterator[Pool]:
    """Both implementations; skips without Dawn, because completeness needs two of them."""
    with Pool() as pool:
        yield pool


@given(rng=st.randoms(use_true_random=False))
@few
def test_small_programs(pool: Pool, rng: random.Random) -> None:
    """Found and made small by hypothesis: the failing program and every answer are printed."""
    program = draw_program(rng)
    answers = pool.judge(program)

    assert new_findings(program, answers) == [], (program, answers)


def test_many_programs(pool: Pool) -> None:
    """Also: no program came to the implementation's own verdict, so our rules missed nothing."""
    campaign = Campaign(pool, seed=1, most_findings=3)
    campaign.run(0, BOUNDED)
    report = campaign.report()

    assert report["new_findings"] == []
    assert report["programs"] == BOUNDED
    for package in pool.packages:
        assert report["verdicts"][package]["accepted by cmdgraph"] > BOUNDED // 3
        assert report["verdicts"][package]["refused by cmdgraph"] > BOUNDED // 4
        assert report["compared_bytes"][package] > BOUNDED // 4
        assert report["compared_changes"][package] > BOUNDED // 20
        assert not {"implementation", "unnamed"} & report["rules"][package].keys()


def test_a_rule_that_is_missing_is_found(dawn_device: object) -> None:
    """The dry run copies no bytes, so nothing else notices."""
    with Pool(without="copy") as pool:
        campaign = Campaign(pool, seed=1, most_findings=1)
        campaign.run(0, BOUNDED)

    assert {found["kind"] for found in campaign.new} == {"unsound"}


def test_what_the_dry_run_sees_too_is_told_apart(dawn_device: object) -> None:
    """Without the rule the implementation answers, and the report says so."""
    with Pool(without="usage_scope") as pool:
        campaign = Campaign(pool, seed=1)
        campaign.run(0, 400)

    assert campaign.rules["wgpu"]["implementation"] > 0


# -- the comparison itself -------------------------------------------------------------------------------------------

ACCEPTS = Verdict(True)
CARELESS = Program((Buffer(4, 4),), (), ())


def _refuses(*rules: str) -> Verdict:
    return Verdict(False, frozenset(rules), " ".join(rules))


CASES = {
    "both accept": (ACCEPTS, ACCEPTS, ACCEPTS, []),
    "both refuse": (_refuses("copy"), _refuses("copy"), _refuses("copy", "clear"), []),
    "one refuses": (_refuses("copy"), ACCEPTS, _refuses("copy"), []),
    "nobody refuses": (_refuses("copy"), ACCEPTS, ACCEPTS, ["too strict", "too strict"]),
    "ours accepts alone": (ACCEPTS, _refuses("copy"), ACCEPTS, ["unsound", "unsound"]),
    "other reasons": (_refuses("copy"), _refuses("clear"), _refuses("write"), ["other reason", "other reason"]),
    "an unknown reason": (_refuses("copy"), Verdict(False, frozenset(), "?"), ACCEPTS, ["other reason"] * 2),
    "not run": (_refuses("DestroyedError"), Verdict(), _refuses("DestroyedError"), []),
    "killed as we said": (_refuses("DestroyedError"), _refuses("abort"), _refuses("DestroyedError"), []),
    "killed for another reason": (_refuses("copy"), _refuses("abort"), ACCEPTS, ["other reason"] * 2),
}


@pytest.mark.parametrize("case", CASES)
def test_each_way_to_disagree_is_a_finding(case: str) -> None:
    ours, native, dawn, kinds = CASES[case]
    answers = {"wgpu": Answer(ours=ours, eager=native), "wgpudawn": Answer(ours=ours, eager=dawn)}

    assert [found.kind for found in findings(CARELESS, answers)] == kinds


def test_other_bytes_other_changes_and_deaths_are_findings() -> None:
    bad = Answer(ours=ACCEPTS, eager=ACCEPTS, replay="other bytes", change="changed", died="replay")

    assert {found.kind for found in findings(CARELESS, {"wgpu": bad})} == {"replay differs", "change differs", "died"}


def test_a_death_that_we_announced_is_none() -> None:
    dead = Answer(ours=_refuses("DestroyedError"), eager=_refuses("abort"), died="eager")

    assert list(findings(CARELESS, {"wgpu": dead})) == []


def test_the_same_seed_gives_the_same_program() -> None:
    assert numbered(5, 17) == numbered(5, 17) != numbered(5, 18)


def test_programs_use_everything() -> None:
    """Whatever the issue lists appears among a few thousand programs."""
    programs = [numbered(9, number) for number in range(3000)]
    kinds = {command[0] for program in programs for command in program.commands()}
    usages = {buffer.usage for program in programs for buffer in program.buffers}
    sizes = {buffer.size for program in programs for buffer in program.buffers}

    assert kinds == {"write", "copy", "clear", "pipeline", "group", "immediates", "dispatch", "indirect"}
    assert len(usages) == 14
    assert {0, 4, 1024} <= sizes
    assert any(program.rebind for program in programs)
    assert any(program.resize for program in programs)
    assert any(buffer.foreign for program in programs for buffer in program.buffers)
    assert {event for program in programs for event, _ in (*program.before, *program.after)} == {
        "destroy",
        "map",
        "map and unmap",
    }


def test_reasons_name_rules_that_exist() -> None:
    known = {rule.name for rule in (*validation.RULES, *validation.ELSEWHERE)} | {"DestroyedError", "MappedError"}

    assert reasons_of("No pipeline set.") == {"pipeline_set"}
    assert reasons_of("something new") == frozenset()
    from tests.fuzz.reasons import REASONS

    assert {rule for _, rules in REASONS for rule in rules} <= known


def test_differences_are_told_apart_and_explained() -> None:
    assert len({difference.name for difference in DIFFERENCES}) == len(DIFFERENCES)
    assert all(difference.anchor.startswith("#") and difference.reason.endswith(".") for difference in DIFFERENCES)


def test_shrinking_takes_away_all_that_is_not_needed() -> None:
    program = next(p for p in (numbered(9, n) for n in range(500)) if sum(c[0] == "copy" for c in p.commands()) >= 2)

    smallest = minimal(program, lambda p: any(c[0] == "copy" for c in p.commands()))

    assert [command[0] for command in smallest.commands()] == ["copy"]
    assert smallest.before == smallest.after == ()


def test_a_resized_program_differs_in_one_dispatch() -> None:
    program = next(p for p in (numbered(9, n) for n in range(500)) if p.resize and p.resized() not in (None, p))
    resized = program.resized()
    assert resized is not None

    changed = [(old, new) for old, new in zip(program.commands(), resized.commands(), strict=True) if old != new]

    assert len(changed) == 1
    assert changed[0][1][1:] == program.resize[1]  # type: ignore[index]
    assert evolve(resized, steps=program.steps) == program
