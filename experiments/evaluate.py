"""Evaluates a trained run: a split of its corpus, or a text of your own.

The test split, as in the run's summary:
  python experiments/evaluate.py --workdir=runs/quickstart/hyprilm

Another split, with the parameters of the last step:
  python experiments/evaluate.py --workdir=runs/quickstart/hyprilm \\
      --split=valid --which=last

Your own text, read from first word to last with the state carried along:
  python experiments/evaluate.py --workdir=runs/quickstart/hyprilm --text=FILE
"""

from absl import flags

from rilm_jax import commandline, results, terminal

_WORKDIR = flags.DEFINE_string("workdir", None, "folder of a run")
_SPLIT = flags.DEFINE_string("split", "test", "train, valid or test")
_TEXT = flags.DEFINE_string("text", None, "a UTF-8 file to evaluate in place of a split")
_WORST = flags.DEFINE_integer("worst", 5, "of a text, how many of its worst lines to print")
_WHICH = flags.DEFINE_string("which", "best", "parameters: best (on validation) or last")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "folder with the run's corpus (or RILM_DATA_DIR)")
flags.declare_key_flag("register")

# At a spread of two or three nats, the standard error of a perplexity is below a tenth from here.
_FEW = 1000


def main() -> None:
    workdir = commandline.required(_WORKDIR, "runs/quickstart/hyprilm")

    from rilm_jax import scoring, trained  # here, so that --help need not wait for JAX

    run = trained.load(workdir, _WHICH.value, data_dir=_DATA_DIR.value, with_corpus=not _TEXT.value)
    if _TEXT.value:
        text = scoring.read_text(_TEXT.value, run.vocab, run.config.corpus)
        what, scores = _TEXT.value, scoring.score_text(run, text)
    else:
        text = None
        what, scores = f"{run.config.corpus} {_SPLIT.value}", scoring.score_split(run, _SPLIT.value)
    report = scoring.report(scores)
    print(
        f"{what}: {report['n_targets']:,} targets, {report['unk_share']:.1%} of them <unk>\n"
        f"{workdir}, {_WHICH.value} parameters{trained.caveat(workdir, run.config)}\n"
    )
    columns = [report["ppl"], report["ppl_non_unk"]]
    factors = run.config.rate_factors  # lanes, which have no mean
    names = [f"seed {seed}" for seed in run.config.seeds]
    if factors:
        names = [f"{name}, rate x {f:g}" for name, f in zip(names, factors, strict=True)]
    per_seed = zip(names, *(column["per_seed"] for column in columns), strict=True)
    rows = [[name, *map(results.number, scores)] for name, *scores in per_seed]
    if not factors:
        rows.append(["mean", *map(results.spread, columns)])
    print(terminal.table(["perplexity", "all targets", "non-<unk>"], rows))
    if text is not None and report["n_targets"] < _FEW:
        print(f"\nFewer than {_FEW:,} targets: another such text may well score far from this.")
    if text is not None and _WORST.value > 0:
        worst = scoring.worst_lines(scores, text, _WORST.value)
        rows = [[line.text, str(line.number), f"{line.nll:.2f}"] for line in worst]
        print("\n" + terminal.table(["the worst lines", "line", "mean NLL"], rows))


if __name__ == "__main__":
    commandline.run(main)
