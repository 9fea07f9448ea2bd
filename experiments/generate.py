"""Goes on with a prompt, word by word, with a trained run's model.

Forty words of the run's first seed; the same command gives the same words:
  python experiments/generate.py --workdir=runs/quickstart/hyprilm \\
      --prompt="The value of"

Other words; another of the run's seeds; always the likeliest word:
  python experiments/generate.py --workdir=DIR --prompt=The --sample_seed=1
  python experiments/generate.py --workdir=DIR --prompt=The --seed=43
  python experiments/generate.py --workdir=DIR --prompt=The --temperature=0

What the model chose from at every step, how far those words are from the
context, and |log_0| of either, on the ball half the distance from its centre:
  python experiments/generate.py --workdir=DIR --prompt=The --explain --top_k=5

A line ends where the model drew <eos>, the end of a line of its text.
"""

import itertools
import sys

from absl import flags

from rilm_jax import commandline, progress, terminal

_WORKDIR = flags.DEFINE_string("workdir", None, "folder of a run")
_PROMPT = flags.DEFINE_string("prompt", None, "words to go on from")
_SEED = flags.DEFINE_integer("seed", None, "which of the run's seeds (default: its first)")
_SAMPLE_SEED = flags.DEFINE_integer(
    "sample_seed", 0, "of the draws", lower_bound=0, upper_bound=2**31 - 1
)
_NUM_TOKENS = flags.DEFINE_integer("num_tokens", 40, "words to add", lower_bound=1)
_TEMPERATURE = flags.DEFINE_float("temperature", 1.0, "0: always the likeliest word")
_TOP_K = flags.DEFINE_integer("top_k", 10, "draw among this many likeliest words; 0: among all")
_ALLOW_UNK = flags.DEFINE_bool("allow_unk", False, "draw <unk>, which stands for any rare word")
_EXPLAIN = flags.DEFINE_bool(
    "explain", False, "print what each word was drawn from (of all words, the first ten)"
)
_WHICH = flags.DEFINE_string("which", "best", "parameters: best (on validation) or last")
flags.declare_key_flag("register")


def main() -> None:
    workdir = commandline.required(_WORKDIR, "runs/quickstart/hyprilm")
    prompt = commandline.required(_PROMPT, "The")

    import jax  # here, so that --help need not wait for it

    from rilm_jax import analysis, generation, trained

    run = trained.load_seed(workdir, _WHICH.value, seed=_SEED.value, with_corpus=False)
    vocab = run.vocab
    ids, unknown = trained.encode(run.config.corpus, vocab, prompt)
    prep = run.model.prepare(run.params)
    steps = generation.stream(
        run.model,
        run.params,
        ids,
        jax.random.key(_SAMPLE_SEED.value),
        _TEMPERATURE.value,
        _TOP_K.value,
        allow_unk=_ALLOW_UNK.value,
        prep=prep,
    )
    if caveat := trained.caveat(workdir, run.config):
        print(f"{workdir}, {_WHICH.value} parameters{caveat}.", file=sys.stderr)
    if unknown:
        print(f"Read as <unk>, not being among the words: {', '.join(unknown)}.", file=sys.stderr)
    steps = itertools.islice(steps, _NUM_TOKENS.value)
    if not _EXPLAIN.value:
        steps = progress.bar(_NUM_TOKENS.value, "generating", "word", iterable=steps, delay=2)
    words = []
    for step in steps:
        words.append(vocab.words[step.id])
        if not _EXPLAIN.value:
            continue
        found = analysis.candidates(
            run.model,
            run.params,
            vocab,
            step.state,
            _TOP_K.value or min(10, len(vocab) - 1),
            allow_unk=_ALLOW_UNK.value,
            prep=prep,
        )
        radius = float(analysis.radius(run.model, run.params, prep.table, step.state))
        unk = None if _ALLOW_UNK.value else float(jax.nn.softmax(step.scores)[vocab.unk])
        print(terminal.candidates_table(len(words), words[-1], radius, found, unk) + "\n")
    print(generation.text(prompt, words))


if __name__ == "__main__":
    commandline.run(main)
