"""The package as a whole: what it imports, in which direction, and which version it says it is."""

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rilm_jax

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rilm_jax"

# From the bottom up: a module imports its own layer and those below it, never one above.
LAYERS = (
    {"errors", "files", "markdown", "progress", "registry", "rng", "summaries", "varying"},
    {"manifolds"},
    {"config", "embedding", "heads", "backbones"},
    {"model"},
    {"sizes", "metrics", "ngram", "data"},
    {"training", "checkpoint", "analysis", "trained", "scoring", "generation"},
    {"presets", "recipes", "results", "commandline", "terminal"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FACADE = len(LAYERS)  # rilm_jax/__init__.py re-exports, so it stands above all that it re-exports
OPTIONAL = ("ml_collections", "tensorflow_datasets", "tensorflow")


def imported_names(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a module of `package` imports, anywhere in it.

    `from a import b` counts as `a.b`, since `b` may be a module.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            prefix = parents[: len(parents) - node.level + 1] if node.level else []
            origin = ".".join([*prefix, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{origin}.{alias.name}"


def level_of(name: str) -> int | None:
    """The layer of a dotted name inside rilm_jax; None for anything else."""
    parts = name.split(".")
    if parts[0] != "rilm_jax":
        return FACADE + 1 if parts[0] == "experiments" else None
    if parts[1:] == ["__version__"]:
        return 0
    return LEVEL.get(parts[1], FACADE) if len(parts) > 1 else FACADE


def upward_imports(source: str, module: str, *, is_package: bool) -> list[str]:
    """One sentence for each import in `source` that goes to a higher layer than `module`'s."""
    own = level_of(module)
    assert own is not None
    package = module if is_package else module.rpartition(".")[0]
    return [
        f"{module}, line {line}: imports {name} from a layer above"
        for line, name in imported_names(source, package)
        if (level := level_of(name)) is not None and level > own
    ]


def modules() -> Iterator[tuple[str, Path]]:
    """Dotted name and file of every module of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a fresh interpreter, as a user's first line would be."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


BLOCK = f"""
import sys
for name in {OPTIONAL}:
    sys.modules[name] = None  # importing it raises ModuleNotFoundError
"""


def test_imports_without_the_optional_packages():
    result = run_python(BLOCK + "import rilm_jax; rilm_jax.build; print(rilm_jax.__name__)")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "rilm_jax"


def test_only_data_preparation_and_launching_need_the_optional_packages():
    code = BLOCK + (
        "import importlib, pkgutil, rilm_jax\n"
        "for module in pkgutil.walk_packages(rilm_jax.__path__, 'rilm_jax.'):\n"
        "    try:\n"
        "        importlib.import_module(module.name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        print(module.name, error.name)\n"
    )
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    for line in result.stdout.splitlines():
        module, missing = line.split()
        allowed = module.startswith(("rilm_jax.data.", "rilm_jax.commandline"))
        assert allowed, f"{module} needs {missing}"
        assert missing.partition(".")[0] in OPTIONAL, f"{module} needs {missing}"


def test_what_every_launcher_imports_first_does_not_wait_for_jax():
    """A launcher's --help and its refusals of bad flags come at once."""
    result = run_python(
        "import sys, rilm_jax.commandline; print([m for m in ('jax', 'flax') if m in sys.modules])"
    )
    assert (result.returncode, result.stdout.strip()) == (0, "[]"), result.stderr


def test_nothing_imports_tensorflow():
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "experiments").rglob("*.py")]
    found = [
        f"{path.relative_to(ROOT)}, line {line}"
        for path in files
        for line, name in imported_names(path.read_text("utf-8"), "")
        if name.partition(".")[0] == "tensorflow"
    ]
    assert not found


def test_every_module_has_a_layer():
    top_level = {name.split(".")[1] for name, _ in modules() if name != "rilm_jax"}
    assert top_level == set(LEVEL), "give each new module its place in LAYERS, and no other"


def test_contributors_read_of_the_same_layers():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    told = re.findall(r"^\| (\d) \| (.*) \|$", text, re.M)
    layers = [set(re.findall(r"`(\w+)/?`", names)) for _, names in sorted(told)]
    assert layers == list(LAYERS)


def test_no_layer_imports_upward():
    found = [
        sentence
        for module, path in modules()
        for sentence in upward_imports(
            path.read_text("utf-8"), module, is_package=path.name == "__init__.py"
        )
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source", "caught"),
    [
        ("rilm_jax.manifolds.poincare", "import rilm_jax.model", True),
        ("rilm_jax.manifolds.poincare", "from rilm_jax import heads", True),
        ("rilm_jax.manifolds.poincare", "from ..model import LanguageModel", True),
        ("rilm_jax.model", "def f():\n    from rilm_jax.training import loop", True),
        ("rilm_jax.model", "from rilm_jax import build", True),
        ("rilm_jax.training.loop", "from experiments import train", True),
        ("rilm_jax.manifolds.poincare", "from . import euclidean", False),
        ("rilm_jax.model", "from rilm_jax.heads import geodesic\nimport jax", False),
        ("rilm_jax.training.loop", "from rilm_jax import __version__", False),
    ],
)
def test_the_layer_check_sees_each_form_of_import(module: str, source: str, caught: bool):
    assert bool(upward_imports(source, module, is_package=False)) is caught


def test_version_is_the_changelogs_newest():
    headings = re.findall(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings, "CHANGELOG.md has no released version"
    assert rilm_jax.__version__ == headings[0]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {headings[0]}\n" in citation
    # A checkout on the path is not a distribution; where it is one, both must agree.
    installed = {str(d.version) for d in importlib.metadata.distributions(name="rilm_jax")}
    assert installed <= {rilm_jax.__version__}
