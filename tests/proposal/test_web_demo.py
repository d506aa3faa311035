"""The demo page in Chromium: the text by each way, keyboard, phone, and what it says where it cannot work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm.golden import golden_prompts
from llm.loading import DEFAULT_MODEL, open_source
from llm.tokenizer import Tokenizer
from scripts import web_demo
from scripts.webgpu_page import BrowserMissingError, webgpu_page
from tests.llm import tiny

PROMPT = "ab c"
TOKENS = 12
WAYS = ("per-op", "one-pass", "bundle")
PHONE = {"width": 360, "height": 740}


class Demo:
    """The page, with the words of its controls."""

    def __init__(self, page: Any) -> None:
        self.page = page
        page.set_default_timeout(240_000)

    def open(self) -> None:
        self.page.wait_for_selector("#load:enabled")
        self.page.click("#load")
        self.page.wait_for_selector("#controls:enabled")

    def write(self, prompt: str, tokens: int, way: str) -> str:
        self.page.check(f"input[value={way}]", force=True)
        self.page.fill("#prompt", prompt)
        self.page.fill("#count", str(tokens))
        self.page.click("#go")
        return self.written()

    def written(self) -> str:
        self.page.wait_for_selector("#compare:enabled")
        return str(self.page.text_content("#made"))

    def problem(self) -> str:
        self.page.wait_for_selector("#problem:not([hidden])")
        return str(self.page.inner_text("#problem"))


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_model(tmp_path_factory.mktemp("model") / "tiny.gguf", tiny.LLAMA)


@pytest.fixture(scope="module")
def site(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return web_demo.build(tmp_path_factory.mktemp("site"), str(model_file))


@pytest.fixture(scope="module")
def browser(site: Path) -> Iterator[Any]:
    """A page of the site; its context can have more."""
    try:
        with webgpu_page("demo/", site) as page:
            yield page
    except BrowserMissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def demo(browser: Any) -> Iterator[Demo]:
    page = browser.context.new_page()
    yield Demo(page)
    page.close()


@pytest.fixture(scope="module")
def opened(browser: Any) -> Demo:
    """The page with its model loaded, which takes seconds; tests set all that they depend on."""
    demo = Demo(browser)
    demo.open()
    return demo


@pytest.fixture(scope="module")
def expected(model_file: Path) -> str:
    """What the model says in float64."""
    source = open_source(str(model_file))
    made = tiny.Reference(source.config, dict(source.weights)).greedy(source.tokenizer.encode(PROMPT), TOKENS)
    return source.tokenizer.decode(_until_stop(made, source.tokenizer))


@pytest.mark.parametrize("way", WAYS)
def test_each_way_writes_what_the_model_says(opened: Demo, expected: str, way: str) -> None:
    assert expected

    assert opened.write(PROMPT, TOKENS, way) == expected
    assert opened.page.text_content("#given") == PROMPT
    assert opened.page.get_attribute("tr.current", "class") == f"{way} current"


def test_the_ways_are_compared(opened: Demo, expected: str) -> None:
    page = opened.page
    page.fill("#prompt", PROMPT)
    page.fill("#count", str(TOKENS))
    page.click("#compare")

    assert opened.written() == expected
    assert page.inner_text("#status") == "The same text by all three ways."
    rows = page.locator("#rows tr").all_inner_texts()
    assert len(rows) == 3
    assert all(float(cell) >= 0 for row in rows for cell in row.split("\t")[1:])
    assert page.locator("#js-chart polyline").count() == page.locator("#ms-chart polyline").count() == 3


def test_the_keyboard_alone(opened: Demo, expected: str) -> None:
    page = opened.page
    page.check("input[value=bundle]", force=True)
    page.fill("#count", str(TOKENS))
    page.focus("#prompt")
    page.keyboard.press("Control+A")
    page.keyboard.type(PROMPT)
    page.keyboard.press("Shift+Tab")  # to the group of ways
    page.keyboard.press("ArrowLeft")
    assert page.is_checked("input[value=one-pass]")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+Enter")

    assert opened.written() == expected
    assert page.evaluate("document.activeElement.id") == "go"


def test_a_text_can_be_stopped(opened: Demo) -> None:
    page = opened.page
    page.fill("#prompt", "a" * 40)
    page.fill("#count", "60")
    page.evaluate("addEventListener('submit', () => setTimeout(() => document.getElementById('stop').click()))")
    page.click("#go")

    opened.written()
    assert page.inner_text("#status").startswith("Stopped after ")
    assert opened.write("b", 1, "bundle") is not None  # it can be used again


@pytest.mark.parametrize(
    ("prompt", "words"), [("", ""), ("a" * 65, "The prompt has 65 tokens, and there is room for 64")]
)
def test_a_prompt_that_does_not_fit(opened: Demo, prompt: str, words: str) -> None:
    before = opened.page.text_content("#made")
    opened.page.fill("#prompt", prompt)
    opened.page.click("#go")

    assert opened.written() == before
    assert words in opened.page.inner_text("#status")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(opened: Demo, scheme: Any) -> None:
    opened.page.emulate_media(color_scheme=scheme)
    opened.page.set_viewport_size(PHONE)
    opened.write("w" * 30, 4, "bundle")

    assert opened.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    colour = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(colour.split("(")[1].split(",")[0]) < 128) == (scheme == "dark")


KEEP_DEVICE = """
const { requestDevice } = GPUAdapter.prototype;
GPUAdapter.prototype.requestDevice = async function (descriptor) {
    globalThis.kept = await requestDevice.call(this, descriptor);
    return kept;
};
"""

BROKEN_BROWSERS = {
    "Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined })": "This browser has no WebGPU",
    "GPU.prototype.requestAdapter = async () => null": "WebGPU finds no GPU here",
    "GPUAdapter.prototype.requestDevice = async () => { throw new Error('in use') }": "The GPU could not be opened",
}


@pytest.mark.parametrize("script", BROKEN_BROWSERS)
def test_a_browser_without_a_gpu(demo: Demo, browser: Any, script: str) -> None:
    demo.page.add_init_script(script)
    demo.page.goto(browser.url)
    if "requestDevice" in script:
        demo.page.wait_for_selector("#load:enabled")
        demo.page.click("#load")

    assert BROKEN_BROWSERS[script] in demo.problem()
    assert demo.page.is_disabled("#go")


def test_limits_that_are_too_small(demo: Demo, browser: Any, site: Path) -> None:
    manifest = site / "model" / "software" / "graph.json"
    before = manifest.read_bytes()
    wanted = json.loads(before) | {"requires": {"features": [], "limits": {"maxBufferSize": 1 << 50}}}
    del wanted["sha256"]
    body = json.dumps(wanted).removesuffix("}").encode()
    manifest.write_bytes(body + f',\n"sha256":"{hashlib.sha256(body).hexdigest()}"}}\n'.encode())
    try:
        demo.page.goto(browser.url)
        demo.page.click("#load")
        told = demo.problem()
    finally:
        manifest.write_bytes(before)

    assert "This GPU offers too little for the model" in told
    assert f"maxBufferSize is {1 << 30}, and {1 << 50} are needed." in told


def test_files_that_are_missing_or_damaged(demo: Demo, browser: Any, site: Path) -> None:
    page = demo.page
    page.route("**/about.json", lambda route: route.fulfill(status=404))
    page.goto(browser.url)
    assert "make web-demo" in demo.problem()

    page.unroute("**/about.json")
    page.route("**/graph.json", lambda route: route.fulfill(body=b"{}"))
    page.reload()
    page.click("#load")
    assert "The saved graph does not work here" in demo.problem()


def test_a_lost_device(demo: Demo, browser: Any) -> None:
    demo.page.add_init_script(KEEP_DEVICE)
    demo.page.goto(browser.url)
    demo.open()
    assert demo.page.evaluate("document.activeElement.id") == "prompt"
    demo.page.evaluate("kept.destroy()")

    assert "The GPU was lost" in demo.problem()


def test_a_gpu_gets_kernels_for_gpus(demo: Demo, browser: Any, expected: str) -> None:
    asked: list[str] = []
    demo.page.on("request", lambda request: asked.append(request.url))
    for name, value in (("isFallbackAdapter", "false"), ("architecture", "''"), ("description", "'A GPU'")):
        demo.page.add_init_script(
            f"Object.defineProperty(GPUAdapterInfo.prototype, '{name}', {{ get: () => {value} }})"
        )
    demo.page.goto(browser.url)
    demo.open()

    assert demo.write(PROMPT, TOKENS, "bundle") == expected
    assert any("/model/gpu/graph.json" in url for url in asked)
    assert not any("/model/software/" in url for url in asked)


@pytest.mark.long
def test_golden_tokens_of_the_real_model(tmp_path: Path) -> None:
    site = web_demo.build(tmp_path, DEFAULT_MODEL, context=64)
    golden = golden_prompts(DEFAULT_MODEL)["p1"]
    tokenizer = open_source(DEFAULT_MODEL).tokenizer
    try:
        with webgpu_page("demo/", site) as page:
            demo = Demo(page)
            demo.open()
            texts = {way: demo.write(golden.text, 8, way) for way in WAYS}
    except BrowserMissingError as error:
        pytest.skip(str(error))

    assert texts == dict.fromkeys(WAYS, tokenizer.decode(golden.greedy[:8]))


def _until_stop(made: list[int], tokenizer: Tokenizer) -> list[int]:
    stops = [n for n, token in enumerate(made) if token in tokenizer.stop_tokens]
    return made[: stops[0]] if stops else made
