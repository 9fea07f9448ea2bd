"""Generation: a step is the model read whole, a draw the distribution, its cost one word's."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build, generation
from rilm_jax.errors import InputError

PROMPT = [3, 5, 1]


@pytest.fixture(scope="module", params=["poincare", "euclidean"])
def model_and_params(request):
    """V = 9, d = 6; words are spread out, so that the scores differ."""
    model = build(ModelConfig(vocab_size=9, dim=6, manifold=request.param, tau=2.0))
    params = model.init(jax.random.key(0))
    params["embed"]["table"] = 4 * params["embed"]["table"]
    return model, params


def whole(model, params, ids):
    """Log-probabilities after each id, read in one go."""
    states, _ = model.hidden(params, jnp.asarray(ids)[None], model.initial_carry(params, 1))
    return np.asarray(jax.nn.log_softmax(model.scores(params, states)[0]))


def test_reading_word_by_word_is_reading_the_whole(model_and_params):
    model, params = model_and_params
    ids = np.random.default_rng(0).integers(0, 9, 70)
    prep, carry, found = model.prepare(params), model.initial_carry(params, 1), []
    for token in ids:
        carry, _, scores = generation.read(model, params, prep, carry, token)
        found.append(jax.nn.log_softmax(scores))
    np.testing.assert_allclose(np.stack(found), whole(model, params, ids), atol=1e-5)


def test_at_temperature_0_every_word_is_the_likeliest(model_and_params):
    model, params = model_and_params
    key = jax.random.key(0)
    drawn = generation.generate(model, params, PROMPT, 8, key, temperature=0, allow_unk=True)
    after = whole(model, params, [*PROMPT, *drawn])
    np.testing.assert_array_equal(drawn, after[len(PROMPT) - 1 : -1].argmax(axis=-1))
    again = generation.generate(
        model, params, PROMPT, 8, jax.random.key(1), temperature=0, top_k=4, allow_unk=True
    )
    np.testing.assert_array_equal(drawn, again)


def test_the_stream_gives_the_words_of_generate_and_their_scores(model_and_params):
    model, params = model_and_params
    arguments = (model, params, PROMPT)
    drawn = generation.generate(*arguments, 12, jax.random.key(3), 1.5, 5)
    steps = [*itertools.islice(generation.stream(*arguments, jax.random.key(3), 1.5, 5), 12)]
    assert [step.id for step in steps] == drawn.tolist()
    after = whole(model, params, [*PROMPT, *drawn])[len(PROMPT) - 1 : -1]
    for step, expected in zip(steps, after, strict=True):
        np.testing.assert_allclose(jax.nn.log_softmax(step.scores), expected, atol=1e-5)


def test_a_key_is_a_text_and_a_longer_one_begins_with_the_shorter(model_and_params):
    model, params = model_and_params

    def words(seed, n):
        return generation.generate(model, params, PROMPT, n, jax.random.key(seed), 3.0).tolist()

    assert words(0, 20) == words(0, 20)
    assert words(0, 20)[:9] == words(0, 9)
    assert words(0, 20) != words(1, 20)


@pytest.mark.parametrize(
    ("temperature", "top_k", "allow_unk"), [(1.0, 0, True), (0.5, 0, False), (2.0, 3, False)]
)
def test_draws_follow_the_distribution(temperature, top_k, allow_unk):
    scores = np.array([2.0, 0.5, 1.0, -1.0, 0.0, 1.5], np.float32)
    keys = jax.random.split(jax.random.key(0), 40_000)
    drawn = jax.vmap(
        lambda key: generation.draw(jnp.asarray(scores), key, temperature, top_k, allow_unk)
    )(keys)
    allowed = np.arange(6) if allow_unk else np.arange(1, 6)
    if top_k:
        allowed = allowed[np.argsort(-scores[allowed])[:top_k]]
    weight = np.zeros(6)
    weight[allowed] = np.exp(scores[allowed] / temperature)
    expected = weight / weight.sum()
    share = np.bincount(np.asarray(drawn), minlength=6) / len(keys)
    assert (share[expected == 0] == 0).all()
    # Five standard deviations of a share.
    np.testing.assert_array_less(abs(share - expected), 5 * np.sqrt(0.25 / len(keys)))


def test_unk_is_not_drawn_unless_asked_for():
    model = build(ModelConfig(vocab_size=9, dim=6, bias=True))
    params = model.init(jax.random.key(0))
    params["head"]["bias"] = jnp.zeros(9).at[0].set(50.0)
    key = jax.random.key(0)
    asked = generation.generate(model, params, PROMPT, 6, key, allow_unk=True)
    assert asked.tolist() == [0] * 6
    for temperature, top_k in ((0.0, 0), (1.0, 0), (5.0, 3)):
        drawn = generation.generate(model, params, PROMPT, 30, key, temperature, top_k)
        assert 0 not in drawn.tolist()


def products(jaxpr):
    """Shapes of all matrix products in a jaxpr, with how often each loop runs them."""
    found = []
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            found.append(tuple(v.aval.shape for v in equation.invars))
        inner = [p for p in equation.params.values() if hasattr(p, "eqns") or hasattr(p, "jaxpr")]
        times = equation.params.get("length", 1)
        for sub in inner:
            found += times * products(getattr(sub, "jaxpr", sub))
    return found


def test_a_word_costs_one_product_in_the_recurrence_and_one_over_the_vocabulary():
    model = build(ModelConfig(vocab_size=50, dim=6))
    params = model.init(jax.random.key(0))
    prep, carry = model.prepare(params), model.initial_carry(params, 1)
    jaxpr = jax.make_jaxpr(lambda *args: generation.read(model, *args))(params, prep, carry, 3)
    shapes = products(jaxpr.jaxpr)
    assert len(shapes) == 2, shapes
    assert shapes[0] == ((1, 6), (6, 6))
    assert 50 in (*shapes[1][0], *shapes[1][1])


def test_the_step_is_compiled_once(model_and_params):
    model, params = model_and_params
    stream = generation.stream(model, params, PROMPT, jax.random.key(0), top_k=2)
    next(stream)
    before = generation.read._cache_size(), generation.draw._cache_size()
    for _ in range(5):
        next(stream)
    assert (generation.read._cache_size(), generation.draw._cache_size()) == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"prompt_ids": []}, "the prompt is empty"),
        ({"prompt_ids": [[1, 2]]}, r"shape \(1, 2\)"),
        ({"prompt_ids": [1, 9]}, "prompt: id 9 at position 1"),
        ({"num_tokens": 0}, "num_tokens=0"),
        ({"temperature": -0.1}, "temperature=-0.1"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"temperature": float("inf")}, "temperature=inf"),
        ({"temperature": 1e300}, "at most 1e.06"),
        ({"top_k": 2.5}, "top_k=2.5"),
        ({"top_k": 9}, "top_k=9 is out of range; there are 8 words"),
        ({"top_k": 10, "allow_unk": True}, "there are 9 words"),
        ({"top_k": -1}, "top_k=-1"),
    ],
)
def test_bad_requests_are_refused_at_once(model_and_params, change, sentence):
    model, params = model_and_params
    request = {"prompt_ids": PROMPT, "num_tokens": 3, "key": jax.random.key(0)} | change
    with pytest.raises(InputError, match=sentence):
        generation.generate(model, params, **request)
    if request.pop("num_tokens"):
        with pytest.raises(InputError, match=sentence):
            generation.stream(model, params, **request)  # before the first word is asked for


@pytest.mark.parametrize(
    ("prompt", "words", "text"),
    [
        ("the cat", ["sat", "."], "the cat sat ."),
        ("the cat", ["<eos>", "a", "dog", "<eos>"], "the cat\na dog"),
        ("a", ["<eos>", "<eos>", "b"], "a\n\nb"),
        ("a\nb", ["c"], "a\nb c"),
    ],
)
def test_the_end_of_a_line_is_printed_as_one(prompt, words, text):
    assert generation.text(prompt, words) == text
