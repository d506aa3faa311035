"""The page of a graph, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cmdgraph.program import Program
from cmdgraph.view.document import document
from cmdgraph.view.page import page as make_page
from tests.browser import chromium
from tests.view.graphs import diamond, layered

LAYERS = 30  # of 36 nodes: about as many as a step of SmolLM2-135M has
MEBI = 1 << 20
ATTACK = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    with chromium() as browser:
        yield browser.new_context(viewport={"width": 1400, "height": 900})


@pytest.fixture
def show(window: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a program from a file; fails on any error, warning or request of the page."""
    complaints: list[str] = []

    def open_page(program: Program, name: str = "graph", *, scheme: Any = "light", **more: Any) -> Any:
        path = tmp_path / "graph.html"
        path.write_text(make_page(document(program, name) | more))
        tab = window.new_page()
        tab.emulate_media(color_scheme=scheme)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("request", lambda request: None if request.url == path.as_uri() else complaints.append(request.url))
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready]")
        return tab

    yield open_page
    for tab in window.pages:
        tab.close()
    assert complaints == []


def text(tab: Any, selector: str) -> str:
    return tab.locator(selector).inner_text()


def drawing(tab: Any) -> str:
    """The map as PNG, in base64, when it has come to rest."""
    tab.wait_for_timeout(300)
    return tab.evaluate("document.getElementById('map').toDataURL()")


def first_card(tab: Any) -> list[float]:
    """Where on the screen a closed group lies on the map: the first place over which the pointer is a hand."""
    return tab.evaluate(
        """() => {
            const map = document.getElementById('map');
            const box = map.getBoundingClientRect();
            for (let clientY = box.y + 10; clientY < box.bottom; clientY += 6)
                for (let clientX = box.x + 10; clientX < box.right; clientX += 6) {
                    map.dispatchEvent(new PointerEvent('pointermove', { clientX, clientY }));
                    if (map.style.cursor === 'pointer') return [clientX + 3, clientY + 3];
                }
        }"""
    )


def test_a_thousand_nodes_are_small_quick_and_drawn(show: Open) -> None:
    program = layered(LAYERS)
    size = len(make_page(document(program, "graph")).encode())
    tabs = [show(program) for _ in range(2)]
    times = [tab.evaluate("performance.now()") for tab in tabs]
    tab = tabs[0]

    assert len(program) == 1080
    assert size <= 3 * MEBI
    assert min(times) <= 2000, "milliseconds from the request of the page to the map being there"
    assert tab.locator(".row.group").count() == LAYERS
    closed = drawing(tab)
    tab.keyboard.press("e")
    assert tab.locator(".row").count() == len(program) + 3 * LAYERS
    assert min(len(closed), len(drawing(tab))) > 20_000, "an empty map is smaller"


def test_the_code_of_a_module_is_in_the_page_once() -> None:
    html = make_page(document(layered(LAYERS), "graph"))

    assert html.count("fn helper()") == 12 * 60


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_and_the_key(show: Open, scheme: str) -> None:
    tab = show(diamond(), scheme=scheme)
    other = {"light": "dark", "dark": "light"}[scheme]
    colours = [tab.evaluate("getComputedStyle(document.body).backgroundColor")]
    assert tab.locator("html").get_attribute("data-theme") == scheme

    tab.keyboard.press("t")
    colours.append(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert tab.locator("html").get_attribute("data-theme") == other
    assert colours[0] != colours[1]


def test_a_node_shows_its_bindings_neighbours_and_code(show: Open) -> None:
    tab = show(layered(2))
    tab.keyboard.press("e")
    tab.locator("#row-n40").click()
    inspector = text(tab, "#inspector")

    assert "attention.4" in inspector
    assert "layer 1 / attention" in inspector
    assert "layer.1.weights" in inspector
    assert "x: array<f32>" in text(tab, ".code")
    assert text(tab, ".nodes.before .noderow b") == "39"
    assert text(tab, ".nodes.after .noderow b") == "41"
    assert tab.url.endswith("#node-40")

    tab.locator(".nodes.after .noderow").click()
    assert "attention.5" in text(tab, "#inspector h2")


def test_a_buffer_shows_who_uses_it(show: Open) -> None:
    tab = show(diamond())
    tab.keyboard.press("e")
    tab.locator("#row-n1").click()
    tab.locator(".binding", has_text="read").first.click()

    assert text(tab, "#inspector h2") == "a"
    assert tab.locator(".nodes.before .noderow b").all_inner_texts() == ["0", "3"]
    assert tab.locator(".nodes.after .noderow b").all_inner_texts() == ["0", "1", "2", "3"]


def test_groups_open_and_close_in_the_outline_and_on_the_map(show: Open) -> None:
    tab = show(layered(LAYERS))
    before = tab.locator(".row").count()
    tab.locator(".row.group").nth(2).click()
    assert tab.locator(".row").count() == before + 2
    assert text(tab, "#inspector h2") == "layer 2"

    tab.keyboard.press("[")
    assert tab.locator(".row").count() == before
    tab.keyboard.press("f")
    tab.wait_for_timeout(300)
    tab.mouse.click(*first_card(tab))
    assert tab.locator(".row").count() == before + 2


def test_search_finds_by_name_group_shader_and_buffer(show: Open) -> None:
    tab = show(layered(3))
    tab.keyboard.press("/")
    tab.keyboard.type("layer.2.weights mlp.1")
    assert text(tab, ".found") == "9 nodes"  # mlp.1 and mlp.10 to mlp.17

    tab.keyboard.press("Enter")
    assert "mlp.1" in text(tab, "#inspector h2")
    tab.keyboard.press("/")
    tab.locator("#search").fill("no such thing")
    assert text(tab, ".found") == "Nothing has that name."
    tab.keyboard.press("Escape")
    assert tab.locator(".found").count() == 0


def test_the_keyboard_walks_along_the_queue_and_the_dependencies(show: Open) -> None:
    tab = show(diamond())

    def at(*keys: str) -> str:
        for key in keys:
            tab.keyboard.press(key)
        return text(tab, "#inspector .kind")

    assert at("ArrowRight") == "Node 0 · dispatch_workgroups"
    assert at("ArrowRight", "ArrowRight").startswith("Node 2")
    assert at("ArrowDown").startswith("Node 3")
    assert at("ArrowUp").startswith("Node 2")
    assert at("ArrowUp", "ArrowLeft").startswith("Node 0")
    assert at("Escape") == "Graph"
    assert at("p") == "Graph"
    assert tab.locator("#critical").get_attribute("aria-pressed") == "true"
    at("?")
    assert tab.locator("dialog").is_visible()


def test_zooming_keeps_what_is_under_the_pointer(show: Open) -> None:
    tab = show(layered(4))
    full = drawing(tab)
    tab.mouse.move(700, 450)
    for _ in range(6):
        tab.mouse.wheel(0, -400)
    assert drawing(tab) != full
    tab.keyboard.press("f")
    assert drawing(tab) == full


def test_a_profile_colours_the_map_and_says_that_it_is_one(show: Open) -> None:
    nodes = len(layered(2))
    profile = {
        "profiled": True,
        "note": "Everything here was profiled.",
        "ns": [1000.0 * at for at in range(nodes)],
        "sum_ns": 500.0 * nodes * (nodes - 1),
        "critical_path": [70, 71],
        "critical_ns": 141_000.0,
        "zeros": 1,
        "period_ns": 1.0,
        "step_ns": 32.0,
        "undisturbed_ms": 1.5,
        "profiled_ms": 2.5,
    }
    tab = show(layered(2), profile=profile)

    assert tab.locator("#colours [aria-checked=true]").inner_text() == "Time"
    assert "profiled" in text(tab, "#facts")
    assert "1.50 ms a replay" in text(tab, "#inspector")
    assert "Everything here was profiled." in text(tab, "#inspector")
    assert "141.0 us, 2 nodes" in text(tab, "#inspector")
    assert text(tab, "#legend").startswith("0 ns")
    tab.keyboard.press("e")
    tab.locator("#row-n71").click()
    assert "71.00 us profiled, 2.78 %" in text(tab, "#inspector")
    tab.locator("#row-n0").click()
    assert "reads zero: below the clock's step" in text(tab, "#inspector")


def test_a_link_leads_to_a_node_and_opens_its_groups(show: Open) -> None:
    tab = show(layered(3))
    tab.goto(f"{tab.url}#node-100")
    tab.reload()
    tab.wait_for_selector("html[data-ready]")

    assert text(tab, "#inspector .kind").startswith("Node 100 ")
    assert tab.locator("#row-n100.chosen").count() == 1


def test_labels_of_strangers_stay_text(show: Open) -> None:
    program = layered(1, labels=ATTACK)
    tab = show(program, ATTACK)
    tab.keyboard.press("e")
    tab.locator("#row-n3").click()

    assert ATTACK in text(tab, "#inspector h2")
    assert tab.title() == f"{ATTACK} · cmdgraph"
    assert tab.evaluate("window.harmed") is None


def test_nothing_but_the_scripts_of_the_page_may_run(show: Open) -> None:
    html = make_page(document(diamond(), "graph"))

    policy = html.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "http://" not in html
    assert "https://" not in html.partition('id="data">')[0]


def test_the_data_in_the_page_is_the_document() -> None:
    data = document(diamond(), ATTACK)
    html = make_page(data)

    assert json.loads(html.partition('id="data">')[2].partition("</script>")[0]) == data
