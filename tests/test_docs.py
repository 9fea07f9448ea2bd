"""The documentation: its links, its examples, and the modules it shows."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import rilm_jax

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(prose(page)):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        found = page.parent / target if target else page
        assert found.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(found), f"{page.name} links to {target}#{anchor}"


def prose(page):
    return re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)


def anchors(page):
    """As GitHub and Python-Markdown name a page's headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("page", ["docs/index.md"])
def test_python_examples_run(page):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})


def test_launchers_named_in_the_pages_exist():
    for page in PAGES:
        for launcher in re.findall(r"python (experiments/\w+\.py)", page.read_text("utf-8")):
            assert (ROOT / launcher).is_file(), f"{page.name} names {launcher}"


def test_keys_of_every_string_in_the_pages_are_known(monkeypatch):
    from rilm_jax import recipes

    monkeypatch.setitem(recipes.MODELS, "gru", "what the reader's FILE.py registers")
    pattern = re.compile(r"experiments/configs/(wikitext2|ptb|pydoc)\.py:([^\s`|\"']+)")
    for page in PAGES:
        for corpus, string in pattern.findall(page.read_text("utf-8")):
            if not string.startswith("MODEL"):
                recipes.recipe(corpus, string)


def test_the_api_page_shows_modules_that_exist():
    named = re.findall(r"^::: (\S+)", (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE)
    assert len(set(named)) == len(named) > 10
    for name in named:
        assert importlib.import_module(name).__doc__, name


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f": {page.name}\n" in navigation, page.name


def with_examples():
    for module in pkgutil.walk_packages(rilm_jax.__path__, "rilm_jax."):
        path = ROOT / Path(*module.name.split("."))
        path = path / "__init__.py" if module.ispkg else path.with_suffix(".py")
        if ">>> " in path.read_text("utf-8"):
            yield module.name


@pytest.mark.parametrize("name", list(with_examples()))
def test_examples_in_docstrings_give_what_they_say(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted and not result.failed
