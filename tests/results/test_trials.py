"""The trials' page."""

import json

import pytest

from rilm_jax import config, recipes, results
from rilm_jax.errors import InputError
from rilm_jax.results import trials

README = f"{results.BEGIN}\n{results.END}\n"


def put(folder, string, *scores):
    run = config.from_flat(recipes.recipe("ptb", string))
    score = {"per_seed": list(scores), "mean": None, "std": None}
    content = {
        "config": config.to_flat(run),
        "seeds": list(run.seeds),
        "params": {"total": 1},
        "steps": 1,
        "floor": dict.fromkeys(("unigram", "unigram_non_unk", "kn5", "kn5_non_unk"), 52.7),
        "corpus": {},
        "tokens_per_second": None,
        "wall_seconds": 1.0,
        "device": "cpu: cpu",
        "commit": None,
        **dict.fromkeys(results.SCORES, score),
    }
    path = folder / "tune" / "ptb" / f"{recipes.name(string)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def test_every_lane_is_a_trial_and_the_best_stands_first(tmp_path):
    fixed = "num_epochs=2,test=False"
    put(
        tmp_path, f"lstm-tied,{fixed},seeds=42+42,rate_factors=0.5+2,learning_rate=0.01", 40.0, 35.5
    )
    put(tmp_path, f"lstm-tied,k=8,{fixed},seeds=42,learning_rate=0.01", None)
    put(tmp_path, f"lstm-linear,{fixed},seeds=42,learning_rate=0.01", 50.0)
    assert trials.ordered(results.read_all(tmp_path)) == [
        trials.Trial("ptb", "lstm-linear", 0.01, (), 2, 50.0),
        trials.Trial("ptb", "lstm-tied", 0.02, (), 2, 35.5),
        trials.Trial("ptb", "lstm-tied", 0.005, (), 2, 40.0),
        trials.Trial("ptb", "lstm-tied", 0.01, ("k=8",), 2, None),
    ]


def test_the_page_has_a_table_for_each_model(tmp_path):
    put(tmp_path, "hyprilm,composition=gated,k=8,seeds=42,num_epochs=2", 45.25)
    put(tmp_path, "hyprilm,seeds=42,num_epochs=2", 46.0)
    readme = tmp_path / "README.md"
    readme.write_text(README)
    page = tmp_path / "tune" / "TRIALS.md"
    assert page in results.write(tmp_path, readme)
    text = page.read_text("utf-8")
    assert "## ptb: hyprilm-geodesic,composition=gated, 1 trials" in text
    assert "| k=8 | 2 | 45.25 |" in text
    assert "| - | 2 | 46.00 |" in text
    assert "45.25" not in readme.read_text("utf-8")  # trials are no results
    assert not results.stale(tmp_path, readme)


def test_without_trials_there_is_no_page(tmp_path):
    readme, page = tmp_path / "README.md", tmp_path / "tune" / "TRIALS.md"
    readme.write_text(README)
    results.write(tmp_path, readme)
    assert not (tmp_path / "tune").exists()
    trial = put(tmp_path, "hyprilm,seeds=42,num_epochs=2", 46.0)
    results.write(tmp_path, readme)
    trial.unlink()
    assert results.stale(tmp_path, readme) == [page]
    assert results.write(tmp_path, readme) == [page]
    assert not page.exists()


def test_a_trial_that_lacks_something_is_named(tmp_path):
    path = put(tmp_path, "hyprilm,seeds=42", 46.0)
    content = json.loads(path.read_text())
    del content["config"]["composition"]
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"seeds=42.json is no summary .*config.composition"):
        results.read_all(tmp_path)
