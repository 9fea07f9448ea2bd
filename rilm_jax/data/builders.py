"""The TFDS builder through which raw text passes on its way to ids.

The only module that imports `tensorflow_datasets`. TensorFlow itself is never imported: examples
are written as array records and read back as a random-access data source.
"""

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import tensorflow_datasets as tfds

LINES_PER_RECORD = 256


class TextCorpus(tfds.core.GeneratorBasedBuilder):
    """A corpus as records of up to 256 consecutive lines, `{"text": bytes}`, in their order.

    Lines within a record are separated by a line feed. A record a line would be the plainer
    format, but TFDS spends 0.2 ms on every record that it reads.

    Args:
        lines: the lines of each split, without their line feeds.
        data_dir: where TFDS writes `text_corpus/1.0.0/`.
    """

    VERSION = tfds.core.Version("1.0.0")
    # Nothing is downloaded here. Looking for a checksum file, TFDS 4.9 would import
    # importlib_resources, which it does not declare as a dependency.
    url_infos = None

    def __init__(self, *, lines: Mapping[str, list[str]], data_dir: str, **options):
        self._lines = lines
        super().__init__(data_dir=data_dir, file_format="array_record", **options)

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description="A text corpus, split into lines.",
            features=tfds.features.FeaturesDict({"text": tfds.features.Text()}),
            disable_shuffling=True,  # the order of the lines is the corpus
        )

    def _split_generators(self, dl_manager):  # a parameter `pipeline` would ask for Beam
        del dl_manager  # nothing to download
        return {split: self._generate_examples(lines) for split, lines in self._lines.items()}

    def _generate_examples(self, lines: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
        for start in range(0, len(lines), LINES_PER_RECORD):
            yield start, {"text": "\n".join(lines[start : start + LINES_PER_RECORD])}


def through_tfds(lines: Mapping[str, list[str]], data_dir: str) -> dict[str, list[str]]:
    """Writes the splits' lines as a TFDS data set in `data_dir` and reads them back."""
    builder = TextCorpus(lines=lines, data_dir=data_dir)
    with _quiet():
        builder.download_and_prepare()
    sources: dict[str, Sequence[dict[str, bytes]]] = {
        split: cast(Any, builder).as_data_source(split=split) for split in lines
    }
    result: dict[str, list[str]] = {}
    for split, source in sources.items():
        texts = (source[i]["text"].decode() for i in range(len(source)))
        result[split] = [line for text in texts for line in text.split("\n")]
    return result


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps TFDS's own bars and messages, meant for hour-long downloads, off the terminal."""
    from tensorflow_datasets.core.utils import tqdm_utils

    active = getattr(tqdm_utils, "_active", True)
    tfds.display_progress_bar(enable=False)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        tfds.display_progress_bar(enable=active)
