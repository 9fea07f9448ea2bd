"""A suite's record as Markdown, for the terminal and for documents alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from rilm_jax import markdown as tables

Record = Mapping[str, Any]


def markdown(record: Record) -> str:
    """Circumstances, targets and rows of a record."""
    blocks = [heading(record)]
    if record["targets"]:
        blocks.append(targets_table(record))
    if record["rows"]:
        blocks.append(rows_table(record))
    if "decoder_error" in record:
        blocks.append(precision_table(record))
    return "\n\n".join(blocks)


def page(record: Record) -> str:
    """`markdown` as a page of its own, which says where it comes from."""
    command = f"python experiments/benchmark.py --suite={record['suite']}"
    note = f"Made by `{command}`; docs/performance.md says what is measured."
    return f"# Benchmark: {record['suite']}\n\n{note}\n\n{markdown(record)}\n"


def heading(record: Record) -> str:
    """Where, when and with what; a suite that was not run says so here."""
    versions = record["versions"]
    packages = [name for name in ("jax", "torch", "geoopt") if name in versions]
    load = record["load_average"]
    facts = [
        record["device"],
        f"{record['cores']} cores",
        *(f"{name} {versions[name]}" for name in packages),
        f"commit {record['commit']}",
        record["date"],
    ]
    if load is not None:
        facts.append(f"load {load:.1f} at the start")
    lines = [f"Benchmark `{record['suite']}`: {', '.join(facts)}."]
    if record["quick"]:
        lines.append("Quick: tiny sizes, to see that it works. The numbers mean nothing.")
    if "not_run" in record:
        lines.append(f"Not run: {record['not_run']}.")
    return "\n".join(lines)


def targets_table(record: Record) -> str:
    """Ratios with their bounds, as medians over the repeats."""
    rows = []
    for target in record["targets"]:
        met = {None: "", True: "yes", False: "no"}[target["met"]]
        rows.append(
            [
                target["name"],
                f"{target['median']:.2f}",
                f"{target['min']:.2f} to {target['max']:.2f}",
                target["target"] or "",
                met,
            ]
        )
    return table(["ratio", "median", "range", "target", "met"], rows)


def rows_table(record: Record) -> str:
    """Times with their spread; rates, temporary memory and compile times where they are known."""
    rows = []
    for row in record["rows"]:
        rows.append(
            [
                row["name"],
                f"{_digits(row['median'])} {row['unit']}",
                f"{_digits(row['min'])} to {_digits(row['max'])}",
                _rate(row),
                f"{row['temporary_mib']:.1f}" if "temporary_mib" in row else "",
                f"{row['compile_seconds']:.1f}" if "compile_seconds" in row else "",
            ]
        )
    header = ["row", "median", "range", "rate", "temporary MiB", "compile s"]
    return table(header, rows)


def _digits(value: float) -> str:
    """Three digits that count, and never an exponent."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _rate(row: Mapping[str, Any]) -> str:
    if "tokens_per_second" in row:
        return f"{row['tokens_per_second']:,.0f} tokens/s"
    if "gflop_per_second" in row:
        return f"{row['gflop_per_second']:,.0f} GFLOP/s"
    return ""


def precision_table(record: Record) -> str:
    """Largest error of the decoder's d^2 by the precision of its product."""
    rows = [
        [name, *(f"{error[p]:.1e}" for p in ("highest", "default"))]
        for name, error in record["decoder_error"].items()
    ]
    return table(["error of d^2 at", "highest", "default"], rows)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that can be read as it stands; numbers to the right."""
    return tables.table(header, rows, right=header[1:], padded=True)
