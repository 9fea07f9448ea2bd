"""The configuration string and the recipes of its presets."""

import dataclasses
import os
import re

import pytest

from rilm_jax import config, presets, recipes
from rilm_jax.errors import InputError


def run_of(corpus: str, string: str) -> config.RunConfig:
    return config.from_flat(recipes.recipe(corpus, string))


def test_hyprilm_alone_is_the_plain_stabilised_model():
    model = run_of("wikitext2", "hyprilm").model
    assert model == config.ModelConfig(
        backbone="rilm",
        head="geodesic",
        manifold="poincare",
        dim=128,
        vocab_size=2000,
        k=0,
        tau=0.1,
        recurrence="mobius",
        composition="mlp",
        init="contractive",
        bias=False,
    )


@pytest.mark.parametrize(
    ("string", "backbone", "head", "manifold"),
    [
        ("hyprilm", "rilm", "geodesic", "poincare"),
        ("flatrilm", "rilm", "geodesic", "euclidean"),
        ("hyprilm-tied", "rilm", "tied", "poincare"),
        ("flatrilm-linear", "rilm", "linear", "euclidean"),
        ("lstm", "lstm", "tied", "euclidean"),
        ("transformer-linear", "transformer", "linear", "euclidean"),
        ("ssm-geodesic", "ssm", "geodesic", "poincare"),
        ("ssm-geodesic,manifold=euclidean", "ssm", "geodesic", "euclidean"),
        ("rhn-tied", "rhn", "tied", "euclidean"),
    ],
)
def test_the_string_names_backbone_head_and_manifold(string, backbone, head, manifold):
    model = run_of("ptb", string).model
    assert (model.backbone, model.head, model.manifold) == (backbone, head, manifold)


@pytest.mark.parametrize("corpus", ["wikitext2", "ptb", "pydoc"])
@pytest.mark.parametrize("preset", presets.PRESETS)
@pytest.mark.parametrize("head", recipes.HEADS)
@pytest.mark.parametrize("model", recipes.MODELS)
def test_every_combination_is_a_run(corpus, model, head, preset):
    string = f"{model}-{head},preset={preset}"
    if preset == "tying" and model not in ("lstm", "rhn"):
        with pytest.raises(InputError, match="preset=tying is for lstm and rhn"):
            recipes.recipe(corpus, string)
        return
    run = run_of(corpus, string)
    assert (run.corpus, run.preset, run.model.head) == (corpus, preset, head)
    full = {"ptb": 10_000, "wikitext2": 33_278}.get(corpus, 2000)
    vocab_size = full if preset == "tying" else 2000
    assert (run.seeds, run.model.vocab_size) == ((42, 43, 44, 45, 46), vocab_size)


@pytest.mark.parametrize(
    ("string", "field", "value"),
    [
        ("hyprilm,dim=32", "dim", 32),
        ("hyprilm,learning_rate=1e-2", "learning_rate", 1e-2),
        ("hyprilm,clip_norm=2", "clip_norm", 2.0),
        ("hyprilm,bias=True", "bias", True),
        ("hyprilm,bias=true", "bias", True),
        ("hyprilm,bias=1", "bias", True),
        ("hyprilm,learn_tau=False", "learn_tau", False),
        ("hyprilm,learn_tau=0", "learn_tau", False),
        ("hyprilm,seeds=42+43+44", "seeds", (42, 43, 44)),
        ("hyprilm,seeds=7", "seeds", (7,)),
        ("hyprilm,k=0", "k", 0),
        ("hyprilm,k=None", "k", None),
        ("hyprilm,seeds=42+42,rate_factors=0.5+2", "rate_factors", (0.5, 2.0)),
        ("hyprilm,recurrence=naive", "recurrence", "naive"),
        ("hyprilm, num_epochs=3", "num_epochs", 3),
        ("lstm,matched=0", "backbone", "lstm"),
    ],
)
def test_values_take_the_type_of_their_field(string, field, value):
    got = recipes.recipe("wikitext2", string)[field]
    assert got == value
    assert type(got) is type(value)


def test_every_field_is_a_key():
    for name, field in config.flat_fields().items():
        if name in ("corpus", "backbone", "head", "manifold"):
            continue
        default = (0.5,) * 5 if name == "rate_factors" else field.default
        text = "+".join(map(str, default)) if isinstance(default, tuple) else str(default)
        text = "tuned" if name == "preset" else text
        model = {"num_heads": "transformer", "span": "transformer", "variational": "lstm"}.get(
            name, "hyprilm"
        )
        model = "lstm" if name in ("num_layers", "hidden_dim", "projection") else model
        model += {
            "init_scale": ",init=uniform",
            "decay": ",schedule=epochs",
            "decay_from": ",schedule=epochs",
            "augment_temperature": ",augment=1",
            "target_grad": ",augment=1",
        }.get(name, "")
        assert recipes.recipe("pydoc", f"{model},{name}={text}")[name] == (
            "tuned" if name == "preset" else default
        )


@pytest.mark.parametrize(
    ("corpus", "string", "sentence"),
    [
        ("wikitext", "hyprilm", "did you mean 'wikitext2'"),
        ("ptb", "", "model '' is unknown"),
        ("ptb", "hyprlm", "did you mean 'hyprilm'"),
        ("ptb", "HypRiLM", "model 'HypRiLM' is unknown"),
        ("ptb", "hyprilm-", "head '' is unknown"),
        ("ptb", "hyprilm-tide", "did you mean 'tied'"),
        ("ptb", "hyprilm-tied-linear", "head 'tied-linear' is unknown"),
        ("ptb", "hyprilm,", "is not key=value"),
        ("ptb", "hyprilm,gated", "'gated' in 'hyprilm,gated' is not key=value"),
        ("ptb", "hyprilm,k=", "is not key=value"),
        ("ptb", "hyprilm,k=8,k=0", "k stands twice"),
        ("ptb", "hyprilm,num_epohcs=3", "did you mean 'num_epochs'"),
        ("ptb", "lstm,composition=gated", "with model lstm; only flatrilm or hyprilm reads it"),
        ("ptb", "flatrilm,c=0.1", "c=0.1 changes nothing with manifold euclidean; only poincare"),
        ("ptb", "hyprilm-linear,tau=0.5", "with head linear; only tied or geodesic reads it"),
        ("ptb", "hyprilm-tied,squared=False", "with head tied; only geodesic reads it"),
        ("ptb", "hyprilm,presett=paper", "did you mean 'preset'"),
        ("ptb", "hyprilm,preset=papers", "did you mean 'paper'"),
        ("ptb", "hyprilm,learning_rate=abc", "learning_rate=abc has the wrong type"),
        ("ptb", "hyprilm,k=2.5", "must be a whole number"),
        ("ptb", "hyprilm,dim=None", "must be a whole number"),
        ("ptb", "hyprilm,bias=no", "must be True or False"),
        ("ptb", "hyprilm,seeds=42:46", "as 42+43"),
        ("ptb", "hyprilm,seeds=42+42", "repeats a seed"),
        ("ptb", "hyprilm,seeds=1+2,rate_factors=1", "has 1 factors for 2 seeds"),
        ("ptb", "hyprilm,seeds=1+2,rate_factors=1+0", "not above 0"),
        ("ptb", "hyprilm,rate_factors=1:2", "numbers as 0.5+1+2"),
        ("ptb", "hyprilm,learning_rate=nan", "not a finite number"),
        ("ptb", "hyprilm,tau=inf", "not a finite number"),
        ("ptb", "hyprilm,learning_rate=-1e-3", "must be above 0"),
        ("ptb", "hyprilm,k=-1", "at least 0"),
        ("ptb", "hyprilm,num_epochs=0", "at least 1"),
        ("ptb", "hyprilm,composition=mpl", "did you mean 'mlp'"),
        ("ptb", "hyprilm,head=tied", "name it after the model"),
        ("ptb", "hyprilm,backbone=lstm", "name the model"),
        ("ptb", "hyprilm,corpus=pydoc", "choose the configuration file"),
        ("ptb", "hyprilm,manifold=euclidean", "contradicts the model's name"),
        ("ptb", "hyprilm,data=folder", "for the corpus 'text' only"),
        ("text", "hyprilm", "append ,data=PATH"),
        ("ptb", "hyprilm,matched=1", "matched=1 solves for the width of a baseline"),
        ("ptb", "lstm-tied,matched=1,dim=9", "leave out dim=9"),
        ("ptb", "lstm,matched=2", "must be True or False"),
        ("ptb", "lstm,init_scale=0.2", "only uniform reads it"),
        ("ptb", "lstm-tied,preset=tying,embed_std=0.2", "changes nothing with init uniform"),
        ("ptb", "hyprilm,decay=0.5", "changes nothing with schedule cosine"),
        ("ptb", "hyprilm,preset=paper,warmup_steps=9", "changes nothing with schedule constant"),
        ("ptb", "lstm,target_grad=True", "changes nothing without the augmented loss"),
    ],
)
def test_mistakes_are_one_sentence(corpus, string, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)) as refused:
        recipes.recipe(corpus, string)
    assert "\n" not in str(refused.value)


def test_text_takes_its_folder_and_keeps_it_apart_from_the_known_corpora(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = run_of("text", "flatrilm,data=wikitext2")
    assert run.corpus == os.path.join(os.getcwd(), "wikitext2")
    assert run_of("text", "flatrilm,data=/a/b=c").corpus == os.path.abspath("/a/b=c")
    assert run_of("text", "flatrilm,data=~/novels").corpus == os.path.expanduser("~/novels")


@pytest.mark.parametrize(
    ("words", "vocab_size", "batch_size", "num_epochs"),
    [(80, 11, 4, 25), (8000, 101, 25, 25), (80_000, 101, 32, 10)],
)
def test_a_texts_size_decides_words_and_steps(tmp_path, words, vocab_size, batch_size, num_epochs):
    path = tmp_path / "text"
    kinds = vocab_size - 1
    path.write_text("".join(f"w{i % kinds}\n" for i in range(words)))
    run = run_of("text", f"hyprilm,data={path}")
    assert run.seeds == (42,)
    assert (run.batch_size, run.num_epochs) == (batch_size, num_epochs)
    assert run.model.vocab_size == vocab_size + 1  # <unk> and <eos>
    assert run_of("text", f"hyprilm,data={path},vocab_size=7,batch_size=3").batch_size == 3


@pytest.mark.parametrize("corpus", ["wikitext2", "ptb", "pydoc"])
@pytest.mark.parametrize(
    ("model", "rate", "k", "tau"),
    [
        ("hyprilm", 3e-3, 8, 1.0),
        ("flatrilm", 1e-3, 8, 1.0),
        ("flatrilm-tied", 1e-3, 8, None),
        ("lstm", 1e-3, 8, None),
        ("lstm-linear", 1e-3, 8, None),
        ("transformer", 1e-3, None, None),
        ("ssm", 1e-3, None, None),
    ],
)
def test_the_paper_preset_is_the_stated_recipe(corpus, model, rate, k, tau):
    run = run_of(corpus, f"{model},preset=paper")
    assert (run.optimizer, run.schedule, run.weight_decay) == ("adam", "constant", 0.0)
    assert (run.learning_rate, run.model.k, run.model.tau) == (rate, k, tau)
    assert (run.batch_size, run.window, run.num_epochs, run.clip_norm) == (128, 64, 10, 1.0)
    assert (run.model.c, run.model.init, run.model.learn_tau) == (1.0, "plain", True)
    assert run.model.dropout == run.model.word_dropout == run.model.output_dropout == 0.0


def test_the_paper_presets_second_row_changes_the_initialisation_alone():
    plain = run_of("wikitext2", "hyprilm,preset=paper")
    other = run_of("wikitext2", "hyprilm,preset=paper,init=contractive")
    assert other == dataclasses.replace(
        plain, model=dataclasses.replace(plain.model, init="contractive")
    )


@pytest.mark.parametrize(
    ("corpus", "string", "rate", "tau"),
    [
        ("wikitext2", "hyprilm", 3e-3, 0.1),
        ("ptb", "hyprilm", 3e-3, 0.1),
        ("wikitext2", "hyprilm,composition=gated", 3e-3, 0.1),
        ("wikitext2", "flatrilm", 4e-3, 0.3),
        ("ptb", "flatrilm", 4e-3, 1.0),
        ("ptb", "flatrilm,composition=gated", 4e-3, 0.3),
        ("pydoc", "flatrilm", 4e-3, 0.3),
        ("wikitext2", "hyprilm,composition=gated,c=0.1", 4e-3, 1.2),
        ("wikitext2", "hyprilm,composition=gated,dim=32", 5e-3, 0.1),
        ("wikitext2", "flatrilm,composition=gated,dim=32", 5e-3, 0.3),
        ("wikitext2", "hyprilm,composition=gated,dim=16", 6e-3, 0.1),
        ("wikitext2", "hyprilm-tied", 3e-3, 0.0125),
        ("wikitext2", "flatrilm-tied", 4e-3, None),
        ("wikitext2", "lstm-geodesic", 8e-3, 0.3),
        ("wikitext2", "lstm", 8e-3, None),
        ("wikitext2", "hyprilm,learning_rate=1e-2,tau=0.5", 1e-2, 0.5),
    ],
)
def test_tuning_starts_from_the_measured_recipes(corpus, string, rate, tau):
    run = run_of(corpus, f"{string},preset=start")
    assert (run.optimizer, run.schedule, run.weight_decay) == ("adamw", "cosine", 0.0)
    assert (run.learning_rate, run.model.tau) == (rate, tau)
    assert (run.clip_norm, run.window, run.model.init) == (1.0, 64, "contractive")


def test_the_later_rule_wins_and_every_condition_must_hold():
    rules = (
        ({}, {"x": 1, "y": 1}),
        ({"a": (1, 2)}, {"x": 2}),
        ({"a": 1, "b": 1}, {"x": 3}),
    )
    assert presets.apply(rules, {"a": 3, "b": 1}) == {"x": 1, "y": 1}
    assert presets.apply(rules, {"a": 2, "b": 1}) == {"x": 2, "y": 1}
    assert presets.apply(rules, {"a": 1, "b": 1}) == {"x": 3, "y": 1}


def test_rules_speak_of_fields_and_names_that_exist():
    fields = config.flat_fields()
    names = {"model": recipes.MODELS, "head": recipes.HEADS, "corpus": recipes.CORPORA}
    for rules in presets.RULES.values():
        for when, then in rules:
            assert set(then) <= set(fields)
            for fact, wanted in when.items():
                assert fact in {*fields, "model"}
                wanted = wanted if isinstance(wanted, tuple) else (wanted,)
                assert all(value in names.get(fact, wanted) for value in wanted)


def test_names_are_safe_for_files_and_distinct():
    assert recipes.name() == "hyprilm"
    assert recipes.name("hyprilm,composition=gated,k=0") == "hyprilm,composition=gated,k=0"
    assert recipes.name("lstm-tied,seeds=1+2") == "lstm-tied,seeds=1+2"
    one, other = recipes.name("hyprilm,data=/a/b"), recipes.name("hyprilm,data=/a:b")
    assert one != other
    for safe in (one, other):
        assert re.fullmatch(r"[A-Za-z0-9._+=,-]+", safe)


@pytest.mark.parametrize(
    ("units", "drop", "scale", "epochs", "clip", "decay", "start"),
    [
        (200, 0.3, 0.1, 39, 5.0, 0.9, 5),
        (650, 0.5, 0.05, 55, 5.0, 0.9, 10),
        (1500, 0.65, 0.04, 75, 6.0, 0.97, 1),
    ],
)
def test_the_tying_preset_is_the_papers_recipe(units, drop, scale, epochs, clip, decay, start):
    run = run_of("ptb", f"lstm-linear,preset=tying,dim={units},augment=0.5")
    assert (run.model.dim, run.model.dropout, run.model.init_scale) == (units, drop, scale)
    assert (run.num_epochs, run.clip_norm, run.decay, run.decay_from) == (
        epochs,
        clip,
        decay,
        start,
    )
    assert (run.optimizer, run.learning_rate, run.schedule) == ("sgd", 1.0, "epochs")
    assert (run.mode, run.batch_size, run.window, run.eval_streams) == ("stream", 20, 35, 1)
    assert (run.reduction, run.augment_temperature) == ("sum_time_mean_batch", 20.0)
    assert run_of("ptb", "lstm-linear,preset=tying").model.dim == 200


def test_the_tying_presets_highway_network():
    run = run_of("ptb", "rhn-tied,preset=tying")
    assert (run.model.dim, run.model.num_layers, run.model.bias) == (830, 10, False)
    drops = (run.model.word_dropout, run.model.input_dropout, run.model.dropout)
    assert (*drops, run.model.output_dropout) == (0.25, 0.75, 0.25, 0.75)
    assert (run.learning_rate, run.clip_norm, run.weight_decay) == (0.2, 10.0, 1e-7)
    assert (run.optimizer, run.schedule, run.decay_from) == ("sgd", "epochs", 20)
    assert run.decay == pytest.approx(1 / 1.02)
    assert (run.model.init, run.model.init_scale) == ("uniform", 0.04)
    assert (run.mode, run.batch_size, run.window, run.eval_streams) == ("stream", 20, 35, 1)
    assert run.reduction == "sum_time_mean_batch"
