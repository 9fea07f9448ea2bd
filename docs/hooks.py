"""Takes the pages and pictures of experiments/results into the site, as record/..."""

from pathlib import Path

from mkdocs.structure.files import File, Files

_LINKED, _SHOWN = "](../experiments/results/", "](record/"  # as pages say it, and as the site does


def on_files(files: Files, config) -> Files:
    results = Path(config.config_file_path).parent / "experiments" / "results"
    for path in sorted([*results.rglob("*.md"), *results.rglob("*.png")]):
        name = path.relative_to(results).as_posix()
        files.append(File.generated(config, f"record/{name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_) -> str:
    return markdown.replace(_LINKED, _SHOWN)
