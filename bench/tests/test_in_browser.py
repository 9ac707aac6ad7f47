"""The pages as a browser shows them: nothing but Chromium and its driver on the PATH is needed.

One browser opens each page a few times; the pages are of made-up results.
"""

import shutil
from datetime import datetime

import numpy as np
import pytest

from bench_records import plan, record, records_of
from mist.report import render_page
from mist_bench.grid_page import render_bench
from mist_bench.result_tables import Table
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item
from mist_paper.report import write_report
from stream_results import SETTINGS, result, section

MADE = datetime(2025, 3, 1, 12, 30)
EVIL = "<script>alert(1)</script>"
LONG = "a_name_without_any_blank_" * 8
NAMES = ("run", "bench", "paper")
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1280,900"),
)

# What is sorted, and the order of its rows upwards and downwards.
UNSORTED = Table(
    "unsorted",
    "To be sorted",
    "",
    ("name", "figure", "verdict"),
    (
        ("b10", "1,234", "holds"),
        ("b2", "0.5 ± 0.1", "fails"),
        ("", "–", "holds"),  # noqa: RUF001 - as the tables have it
        ("Añ", "−3", "fails"),  # noqa: RUF001
        ("an", "0.5 ± 0.01", "holds"),
        ("c", "failed", "no guarantee"),
        ("d", "1e-3", "fails"),
    ),
    rules=frozenset({3}),
)
SORTED = {
    0: (["an", "Añ", "b2", "b10", "c", "d", ""], ["d", "c", "b10", "b2", "Añ", "an", ""]),
    1: (["Añ", "d", "b2", "an", "b10", "", "c"], ["b10", "b2", "an", "d", "Añ", "", "c"]),
    2: (["b2", "Añ", "d", "b10", "", "an", "c"], ["c", "b10", "", "an", "b2", "Añ", "d"]),
}


def run_page():
    models = (result(EVIL), result("MIST-K", seed=1), result(LONG, seed=2))
    settings = {EVIL: {EVIL: EVIL}, "MIST-K": SETTINGS["MIST-K"], LONG: {}}
    pages = (
        section(*models, dataset=EVIL, description=EVIL, border_labels=[EVIL, "task 3"]),
        section(*models, dataset=LONG),
    )
    return render_page("A report", EVIL, pages, settings)


def bench_page():
    runs = plan(
        ["mist-g", "mist-k", "vfdt", "hat", "slda", "ncm", "majority", EVIL], ["wine", EVIL]
    )
    records = [
        record(run, classes=(EVIL, "1", LONG), settings={EVIL: LONG})
        if run.method == EVIL
        else made
        for run, made in zip(runs, records_of(runs), strict=True)
    ]
    return render_bench(
        EVIL,
        LONG,
        records,
        datasets=["wine", EVIL],
        planned=runs,
        made=MADE,
        comparison=[UNSORTED, Table("evil", EVIL, EVIL, (EVIL, LONG), ((EVIL, LONG),) * 2)],
    )


def paper_page(folder):
    def panel(ax):
        ax.plot([1, 2, 3], label=EVIL)
        ax.set_xlabel(EVIL)

    drawings = (
        Drawing("one", EVIL, (panel,), EVIL, EVIL),
        Drawing("four", LONG, (panel,) * 4, LONG, LONG, n_columns=2),
    )
    wide = Table("wide", LONG, LONG, tuple(f"column {i}" for i in range(30)), (("0.5",) * 30,) * 3)
    item = Item(EVIL, "figure", EVIL, lambda scope: (), lambda scope, records: Exhibit())
    exhibit = Exhibit((wide, UNSORTED), drawings, (), (EVIL, LONG))
    return write_report(folder, {"an-item": (item, exhibit)}, note=EVIL, made=MADE)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    paths = {name: folder / f"{name}.html" for name in ("run", "bench")}
    paths["run"].write_text(run_page(), encoding="utf-8")
    paths["bench"].write_text(bench_page(), encoding="utf-8")
    return {name: path.as_uri() for name, path in paths.items()} | {
        "paper": paper_page(folder / "paper").as_uri()
    }


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    service = shutil.which("chromedriver")
    if program is None or service is None:
        pytest.skip("Chromium and its driver are not on the PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for switch in (*SWITCHES, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options, webdriver.ChromeService(service))
    yield chrome
    chrome.quit()


@pytest.fixture
def show(driver, pages):
    """Open a page in a window of some width, in a light or a dark surrounding."""

    def open_page(name, *, width=1280, scheme="light", scripts=True):
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        driver.get(pages[name])
        if scripts:
            driver.execute_script(OPEN)
        return driver

    return open_page


OPEN = "for (const part of document.querySelectorAll('details')) part.open = true;"

SIZES = """
// Drawings for other widths of the screen are hidden.
const images = [...document.querySelectorAll("svg, img")].filter((each) => each.checkVisibility());
return images.map((image) => {
  const box = image.getBoundingClientRect();
  const paths = image.querySelectorAll("path").length;
  const drawn = image.tagName === "IMG" ? image.naturalWidth : paths;
  return [box.width, box.height, drawn];
});
"""

# The ratio of luminances of every text on what is behind it, as WCAG 2 defines it. Numbers in
# cells of heat maps, which have colours of their own, are left to the test of these colours.
CONTRASTS = """
const parse = (colour) => {
  const parts = colour.match(/[\\d.]+/g).map(Number);
  return parts.length === 3 ? [...parts, 1] : parts;
};
const over = (top, below) =>
  [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * below[i]).concat(1);
const luminance = (colour) => {
  const linear = colour.slice(0, 3).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
const behind = (element) => {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const layer = parse(getComputedStyle(e).backgroundColor);
    layers.push(layer);
    if (layer[3] === 1) break;
  }
  return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255, 1]);
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.textContent.trim();
  const element = walker.currentNode.parentElement;
  if (!text || ["SCRIPT", "STYLE", "style"].includes(element.tagName)) continue;
  const drawn = element.closest("svg");
  if (drawn && element.style.fill !== "currentcolor") continue;
  const style = getComputedStyle(element);
  const ink = parse(drawn ? style.fill : style.color);
  for (let e = element; e; e = e.parentElement) ink[3] *= Number(getComputedStyle(e).opacity);
  const ground = behind(element);
  const [low, high] = [luminance(over(ink, ground)), luminance(ground)].sort((a, b) => a - b);
  found.push([text, (high + 0.05) / (low + 0.05)]);
}
return found;
"""

FIRST_CELLS = """
const table = [...document.querySelectorAll("table")].find(
  (table) => table.tHead.textContent.includes("verdict"));
return [...table.tBodies[0].rows].map((row) => row.cells[0].textContent.trim());
"""


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_complained_of_and_every_drawing_is_seen(show, name):
    driver = show(name)
    sizes = np.array(driver.execute_script(SIZES))
    assert len(sizes) >= 2
    assert (sizes[:, :2] > 50).all()
    assert (sizes[:, 2] > 0).all()
    assert driver.get_log("browser") == []


@pytest.mark.parametrize("name", NAMES)
def test_names_from_outside_stay_texts(show, name):
    from selenium.common.exceptions import NoAlertPresentException

    driver = show(name)
    with pytest.raises(NoAlertPresentException):
        driver.switch_to.alert  # noqa: B018 - reading is the test
    assert driver.execute_script("return document.scripts.length") == 1
    words = driver.execute_script("return document.body.textContent")
    assert words.count(EVIL) > 5
    # Nor does a script run that has slipped in.
    driver.execute_script(
        "const script = document.createElement('script'); script.text = 'window.ran = 1';"
        "document.body.append(script);"
    )
    assert driver.execute_script("return window.ran === undefined")
    (said,) = driver.get_log("browser")
    assert "Content Security Policy" in said["message"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_every_text_stands_out(show, name, scheme):
    driver = show(name, scheme=scheme)
    ground = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(16, 20, 24)") == (scheme == "dark")
    found = driver.execute_script(CONTRASTS)
    assert len(found) > 50
    assert [(text, ratio) for text, ratio in found if ratio < 4.5] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_has_the_whole_width(show, name):
    driver = show(name, width=375)
    sizes = "const root = document.documentElement; return [root.clientWidth, root.scrollWidth];"
    assert driver.execute_script(sizes) == [375, 375]
    # What is wider scrolls in a box of its own.
    wide = (
        "return [...document.querySelectorAll('.scroll')].map((e) => e.scrollWidth > e.clientWidth)"
    )
    assert any(driver.execute_script(wide))


@pytest.mark.parametrize("column", SORTED)
def test_a_click_sorts(show, column):
    driver = show("bench")
    button = "th[aria-sort] button"
    table = next(t for t in driver.find_elements("css selector", "table") if "verdict" in t.text)
    buttons = table.find_elements("css selector", button)
    heading = buttons[column].find_element("xpath", "..")
    before = driver.execute_script(FIRST_CELLS)
    assert before == [row[0] for row in UNSORTED.rows]
    for direction, expected in zip(
        ("ascending", "descending", "none"), (*SORTED[column], before), strict=True
    ):
        buttons[column].click()
        assert heading.get_attribute("aria-sort") == direction
        assert driver.execute_script(FIRST_CELLS) == expected
    buttons[0].click()
    buttons[column].click()
    sorts = [b.find_element("xpath", "..").get_attribute("aria-sort") for b in buttons]
    assert sum(sort != "none" for sort in sorts) == 1


def test_keys_sort_as_well(show):
    from selenium.webdriver import ActionChains, Keys

    driver = show("paper")
    table = next(t for t in driver.find_elements("css selector", "table") if "verdict" in t.text)
    region = table.find_element("xpath", "..")
    driver.execute_script("arguments[0].focus()", region)
    for key, expected in ((Keys.ENTER, SORTED[1][0]), (Keys.SPACE, SORTED[1][1])):
        if key == Keys.ENTER:
            ActionChains(driver).send_keys(Keys.TAB, Keys.TAB).perform()
        focused = driver.switch_to.active_element
        assert (focused.tag_name, focused.text) == ("button", "figure")
        assert focused.value_of_css_property("outline-style") == "solid"
        ActionChains(driver).send_keys(key).perform()
        assert driver.execute_script(FIRST_CELLS) == expected


@pytest.mark.parametrize("name", NAMES)
def test_without_scripts_the_tables_are_plain(show, name):
    driver = show(name, scripts=False)

    def count(selector):
        # The number of a node is valid until the browser reports the next change.
        root = driver.execute_cdp_cmd("DOM.getDocument", {})["root"]["nodeId"]
        asked = {"nodeId": root, "selector": selector}
        return len(driver.execute_cdp_cmd("DOM.querySelectorAll", asked)["nodeIds"])

    assert count("button") == count("[aria-sort]") == 0
    assert count("thead th[scope=col]") > 5
    assert count("tbody tr") > 3
