"""The record and its tables, made from summaries written here; and the project's own."""

import copy
import json
from pathlib import Path

import pytest

from rilm_jax import config, recipes, results
from rilm_jax.errors import InputError
from rilm_jax.results import findings

ROOT = Path(__file__).resolve().parents[2]
README = f"# Title\n\nBefore.\n\n{results.BEGIN}\n{results.END}\n\nAfter.\n"


def score(*values):
    n = len(values)
    mean = sum(values) / n
    std = (sum((v - mean) ** 2 for v in values) / (n - 1)) ** 0.5 if n > 1 else None
    return {"per_seed": list(values), "mean": mean, "std": std}


def summary(corpus="wikitext2", string="hyprilm", n=5, best=30.0, **changes):
    """What a run of that string leaves, with n seeds around a perplexity of `best`."""
    run = config.from_flat(recipes.recipe(corpus, string))
    around = score(*(best + i / 10 for i in range(n)))
    return {
        "config": config.to_flat(run),
        "seeds": list(run.seeds),
        "params": {"total": 289_025},
        "steps": 2550,
        "best_valid_ppl": around,
        "best_valid_ppl_non_unk": score(*(best + 10 + i for i in range(n))),
        "test_ppl": score(*(best - 1 for _ in range(n))),
        "test_ppl_non_unk": score(*(best + 9 for _ in range(n))),
        "floor": {"unigram": 110.6, "kn5": 36.3, "unigram_non_unk": 300.0, "kn5_non_unk": 80.8},
        "test_floor": {"unigram": 109.7, "kn5": 35.3},
        "corpus": {},
        "tokens_per_second": 123_456.7,
        "wall_seconds": 100.0,
        "device": "gpu: Some Accelerator",
        "commit": "0123456789ab",
        "command": f"python experiments/train.py --config=experiments/configs/{corpus}.py:{string}",
    } | changes


@pytest.fixture
def record(tmp_path):
    """`record(corpus, name, summary)` puts a summary where the tables are made from."""

    def put(corpus, name, content):
        path = tmp_path / "results" / corpus / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
        return path

    put.folder, put.readme = tmp_path / "results", tmp_path / "README.md"
    put.folder.mkdir()
    put.readme.write_text(README)
    return put


def rows(record):
    return results.rows(results.read_all(record.folder))


def cells(row):
    return dict(zip(results.HEADER, row, strict=True))


def test_the_projects_tables_are_what_its_summaries_give():
    stale = results.stale(ROOT / "experiments" / "results", ROOT / "README.md")
    assert not stale, "run python experiments/table.py"


def test_a_row_says_what_was_run_and_what_came_out(record):
    record("wikitext2", "hyprilm", summary())
    (row,) = rows(record)
    assert cells(row) == {
        "dataset": "wikitext2",
        "V": "2000",
        "model": "hyprilm",
        "head": "geodesic",
        "preset": "tuned",
        "options": "",
        "parameters": "289,025",
        "steps": "2,550",
        "seeds": "5",
        "valid": "30.20 ± 0.16",
        "valid, non-`<unk>`": "42.00 ± 1.58",
        "test": "29.00 ± 0.00",
        "test, non-`<unk>`": "39.00 ± 0.00",
        "paper, valid": "54.2 ± 0.2",
        "5-gram, valid": "36.30",
        "5-gram, valid, non-`<unk>`": "80.80",
        "5-gram, test": "35.30",
        "tokens/s": "123,457 (Some Accelerator)",
        "command": "`python experiments/train.py "
        "--config=experiments/configs/wikitext2.py:hyprilm`",
        "commit": "0123456789ab",
    }


def test_rows_stand_by_corpus_then_vocabulary_then_perplexity(record):
    for corpus, string, best in (
        ("ptb", "hyprilm", 10.0),
        ("wikitext2", "hyprilm,vocab_size=10000", 5.0),
        ("wikitext2", "flatrilm", 31.0),
        ("wikitext2", "hyprilm", 30.0),
    ):
        record(corpus, string, summary(corpus, string, best=best))
    shown = [(c["dataset"], c["V"], c["model"]) for c in map(cells, rows(record))]
    assert shown == [
        ("wikitext2", "2000", "hyprilm"),
        ("wikitext2", "2000", "flatrilm"),
        ("wikitext2", "10000", "hyprilm"),
        ("ptb", "2000", "hyprilm"),
    ]


@pytest.mark.parametrize(
    ("n", "dead", "seeds"), [(5, 0, "5"), (1, 0, "1 †"), (4, 0, "4 †"), (5, 1, "4 of 5 †")]
)
def test_rows_with_fewer_than_five_finished_seeds_are_marked(record, n, dead, seeds):
    content = summary(n=n) | {"seeds": list(range(n))}
    content["best_valid_ppl"]["per_seed"][:dead] = [None] * dead
    record("wikitext2", "hyprilm", content)
    (row,) = rows(record)
    assert cells(row)["seeds"] == seeds


def test_a_run_without_any_perplexity_has_its_row_at_the_end(record):
    nothing = {"per_seed": [None] * 5, "mean": None, "std": None}
    scores = [key for key in summary() if key.endswith("ppl") or key.endswith("non_unk")]
    record("ptb", "hyprilm", summary("ptb", **dict.fromkeys(scores, nothing)))
    record("ptb", "lstm", summary("ptb", "lstm", best=999.0))
    first, last = map(cells, rows(record))
    assert first["model"] == "lstm"
    assert (last["seeds"], last["valid"], last["test"]) == ("0 of 5 †", "-", "-")


@pytest.mark.parametrize(
    ("corpus", "string", "paper"),
    [
        ("wikitext2", "flatrilm,preset=paper", "87.6 ± 0.6"),
        ("wikitext2", "ssm", "113.0 ± 3.8"),
        ("wikitext2", "lstm-linear", "113 to 147"),
        ("wikitext2", "flatrilm,vocab_size=10000", "341.8 ± 0.5"),
        ("wikitext2", "hyprilm,composition=gated", "-"),
        ("wikitext2", "hyprilm,dim=32", "-"),
        ("wikitext2", "hyprilm-tied", "-"),
        ("wikitext2", "hyprilm,c=0.1", "-"),
        ("wikitext2", "hyprilm,chart=tangent", "-"),
        ("wikitext2", "hyprilm,bias=True", "-"),
        ("wikitext2", "hyprilm,learn_tau=False", "-"),
        ("wikitext2", "hyprilm,guard=clip", "-"),
        ("wikitext2", "lstm,matched=1", "-"),
        ("wikitext2", "ssm,num_layers=1", "-"),
        ("ptb", "hyprilm", "69.8 ± 0.5"),
        ("ptb", "flatrilm", "40.9 ± 0.6"),
        ("ptb", "lstm", "-"),
    ],
)
def test_the_papers_value_stands_beside_the_papers_models_alone(record, corpus, string, paper):
    record(corpus, string, summary(corpus, string))
    (row,) = rows(record)
    assert cells(row)["paper, valid"] == paper


def test_options_are_the_strings_and_the_overrides(record):
    given = (
        "python experiments/train.py --config=experiments/configs/wikitext2.py:"
        "hyprilm,preset=paper,init=contractive,vocab_size=2000 "
        "--config.clip_norm=0.5 --config.seeds=42+43"
    )
    record("wikitext2", "odd", summary(string="hyprilm,preset=paper", command=given))
    (row,) = rows(record)
    assert cells(row)["options"] == "init=contractive, clip_norm=0.5"
    assert cells(row)["preset"] == "paper"


def test_a_command_is_derived_from_the_name_only_where_it_gives_that_configuration(record):
    content = summary(string="hyprilm,k=1")
    del content["command"]
    assert results.command(content, "hyprilm,k=1") == (
        "python experiments/train.py --config=experiments/configs/wikitext2.py:hyprilm,k=1"
    )
    del content["config"]["num_layers"]  # as in a version that had no such field
    assert results.command(content, "hyprilm,k=1") is not None
    assert results.command(content, "hyprilm") is None
    assert results.command(content, "my run") is None
    content["config"]["learning_rate"] = 1e-2  # the recipe has moved since
    assert results.command(content, "hyprilm,k=1") is None
    record("wikitext2", "hyprilm,k=1", content)
    (row,) = rows(record)
    assert cells(row)["command"] == "-"


def test_texts_of_python_say_which_python(record):
    record("pydoc", "hyprilm", summary("pydoc") | {"corpus": {"python": "3.11.7"}})
    (row,) = rows(record)
    assert cells(row)["dataset"] == "pydoc (Python 3.11.7)"


def test_both_pages_hold_the_table_and_the_readme_keeps_the_rest(record):
    record("wikitext2", "hyprilm", summary())
    page = record.folder / "RESULTS.md"
    assert set(results.write(record.folder, record.readme)) == {page, record.readme}
    runs = results.read_all(record.folder)
    table = results.markdown(runs)
    assert table in page.read_text("utf-8")
    told = findings.five_seeds(runs)
    assert "hyprilm-geodesic has the lowest validation perplexity, 30.20; 6.10 below" in told
    assert told in page.read_text("utf-8")
    brief = results.brief(runs)
    assert record.readme.read_text("utf-8") == README.replace(
        f"{results.BEGIN}\n", f"{results.BEGIN}\n{brief}\n{told}"
    )
    assert len(brief.splitlines()[2].split("|")) < len(table.splitlines()[2].split("|"))
    for made in (table, brief):
        lines = [line for line in made.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1
    assert results.write(record.folder, record.readme) == []


def test_the_brief_table_has_each_models_best_run_and_its_best_of_five_seeds(record):
    for string, n, best in (
        ("hyprilm", 5, 30.0),
        ("hyprilm,k=1", 5, 31.0),
        ("flatrilm", 2, 29.0),
        ("flatrilm,k=1", 1, 29.5),
        ("flatrilm,k=8", 5, 33.0),
        ("flatrilm,composition=gated", 5, 27.0),
        ("lstm", 2, 25.0),
    ):
        content = summary(string=string, n=n, best=best) | {"seeds": list(range(n))}
        record("wikitext2", string, content)
    nothing = {"per_seed": [None], "mean": None, "std": None}
    record("wikitext2", "ssm", summary(string="ssm", n=1, best_valid_ppl=nothing) | {"seeds": [1]})
    shown = results.brief(results.read_all(record.folder)).splitlines()[2:]
    shown = [[cell.strip() for cell in line.split("|")] for line in shown if line.startswith("|")]
    assert [(line[3], line[6]) for line in shown] == [
        ("lstm", ""),
        ("flatrilm", "composition=gated"),
        ("flatrilm", ""),
        ("hyprilm", ""),
        ("flatrilm", "k=8"),
    ]


def test_the_notes_tell_the_share_of_unk_where_a_run_has_told(record):
    record("wikitext2", "hyprilm", summary())
    assert "validation targets" not in results.markdown(results.read_all(record.folder))
    record("wikitext2", "hyprilm,k=1", summary() | {"corpus": {"unk_share": 0.25}})
    for made in (results.markdown, results.brief):
        told = made(results.read_all(record.folder))
        assert "Of the validation targets `<unk>` is 25.0% of wikitext2, 2,000 words." in told


@pytest.mark.parametrize("edit", ["summary", "table", "readme", "gone"])
def test_tables_that_differ_from_the_summaries_are_stale(record, edit):
    path = record("wikitext2", "hyprilm", summary())
    results.write(record.folder, record.readme)
    assert results.stale(record.folder, record.readme) == []
    page = record.folder / "RESULTS.md"
    if edit == "summary":
        record("wikitext2", "hyprilm", summary(best=29.0))
        expected = [page, record.readme]
    elif edit == "gone":
        path.unlink()
        expected = [page, record.readme]
    else:
        expected = [page if edit == "table" else record.readme]
        expected[0].write_text(expected[0].read_text("utf-8").replace("30.20", "29.20"), "utf-8")
    assert results.stale(record.folder, record.readme) == expected


def test_a_finished_run_is_taken_in_as_it_is(record, tmp_path):
    workdir = tmp_path / "runs" / "wikitext2" / "hyprilm,k=0"
    workdir.mkdir(parents=True)
    content = json.dumps(summary(string="hyprilm,k=0"), indent=3)
    (workdir / "summary.json").write_text(content)
    written = results.take_in([workdir], record.folder, record.readme)
    copied = record.folder / "wikitext2" / "hyprilm,k=0.json"
    assert written[0] == copied
    assert copied.read_text() == content
    assert len(rows(record)) == 1
    assert results.stale(record.folder, record.readme) == []


@pytest.mark.parametrize(
    ("changes", "below"),
    [
        ({"corpus": "/home/somebody/novels"}, "text"),
        ({"test": False}, "tune/wikitext2"),
        ({"rate_factors": [0.5, 1.0, 2.0, 4.0, 8.0]}, "tune/wikitext2"),
        ({"corpus": "/home/somebody/novels", "test": False}, "tune/text"),
    ],
)
def test_a_run_is_filed_by_what_it_is(record, tmp_path, changes, below):
    content = summary()
    content["config"] |= changes
    workdir = tmp_path / "mine"
    workdir.mkdir()
    (workdir / "summary.json").write_text(json.dumps(content))
    written = results.take_in([workdir], record.folder, record.readme)
    assert written[0] == record.folder / below / "mine.json"
    shown = record.readme.read_text("utf-8")
    assert ("30.20" in shown) is ("tune" not in below)
    assert ("| novels |" in shown) is (below == "text")


def test_without_a_rate_there_is_none_in_the_table(record):
    record("wikitext2", "hyprilm", summary(tokens_per_second=None))
    (row,) = rows(record)
    assert cells(row)["tokens/s"] == "-"


def broken(**changes):
    content = copy.deepcopy(summary())
    for key, value in changes.items():
        content[key] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "holds no summary.json; let the run end first"),
        ("{", "cannot be read"),
        ("[]", "is no summary of a run"),
        (broken(floor={}), "is no summary of a run .floor.unigram is missing"),
        (broken(config={}), "is no summary of a run .config.backbone is missing"),
        (broken(best_valid_ppl=None), "is no summary of a run .best_valid_ppl.per_seed is missing"),
        (broken(seeds=[1]), "is no summary of a run .best_valid_ppl is missing or wrong"),
    ],
)
def test_what_is_no_finished_run_is_not_taken_in(record, tmp_path, content, sentence):
    workdir = tmp_path / "run"
    workdir.mkdir()
    if content is not None:
        (workdir / "summary.json").write_text(content)
    with pytest.raises(InputError, match=sentence):
        results.take_in([workdir], record.folder, record.readme)
    assert not list(record.folder.iterdir())
    assert record.readme.read_text() == README


def test_a_readme_without_its_markers_is_refused_before_anything_is_copied(record, tmp_path):
    record.readme.write_text("# Title\n")
    (tmp_path / "summary.json").write_text(json.dumps(summary()))
    with pytest.raises(InputError, match=r"lacks the lines <!-- results:begin -->"):
        results.take_in([tmp_path], record.folder, record.readme)
    assert not list(record.folder.iterdir())


def test_a_curve_is_read_from_the_record_and_from_a_work_directory(tmp_path):
    lines = [
        {"step": 6 * e, "epoch": e, "split": s, "ppl": [40.0 / e]}
        for e in (1, 2)
        for s in ("train", "valid")
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n"
    (tmp_path / "metrics.jsonl").write_text(text)
    (tmp_path / "run,c=0.1.jsonl").write_text(text)
    for place in (tmp_path, tmp_path / "run,c=0.1.json"):
        assert [point["ppl"] for point in results.curve(place)] == [[40.0], [20.0]]
    assert results.curve(tmp_path / "another.json") == []
    (tmp_path / "bad.jsonl").write_text("{")
    with pytest.raises(InputError, match="holds no metrics"):
        results.curve(tmp_path / "bad.json")


def test_metrics_are_taken_in_beside_the_summary(record, tmp_path):
    workdir = tmp_path / "runs" / "hyprilm"
    workdir.mkdir(parents=True)
    (workdir / "summary.json").write_text(json.dumps(summary()))
    (workdir / "metrics.jsonl").write_text('{"split": "valid"}\n')
    written = results.take_in([workdir], record.folder, record.readme)
    beside = record.folder / "wikitext2" / "hyprilm.jsonl"
    assert beside in written and results.curve(beside.with_suffix(".json")) == [{"split": "valid"}]
