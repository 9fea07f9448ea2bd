"""What the launchers share: one-sentence errors, and configurations from flags.

_CONFIG = config_flags.DEFINE_config_file("config")

def main() -> None:
    run = commandline.run_config(_CONFIG.value)
    ...

if __name__ == "__main__":
    commandline.run(main)
"""

import errno
import itertools
import os
import re
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from absl import app, flags, logging
from ml_collections import ConfigDict, config_dict

from rilm_jax import config, recipes
from rilm_jax.config import RunConfig
from rilm_jax.errors import InputError, nearest, unknown_name
from rilm_jax.results import command_line

#: Exit statuses: bad input (as argparse and the shell have it), and 128 + SIGINT.
BAD_INPUT, INTERRUPTED = 2, 130

flags.DEFINE_multi_string(
    "register", [], "a Python file that is run first and registers backbones of yours"
)

_OF_THE_MACHINE = {
    getattr(errno, name)
    for name in ("ENAMETOOLONG", "ELOOP", "EACCES", "EROFS", "ENOSPC", "EDQUOT")
    if hasattr(errno, name)
}

_CONFIG_FLAG = re.compile(r"--?config(?:=(?P<value>.*))?", re.DOTALL)
_NUMBERS = re.compile(r"[\d.]+(\+[\d.]+)*")
_REGISTER_FLAG = re.compile(r"--?register(?:=(?P<value>.*))?", re.DOTALL)
_OVERRIDE = re.compile(r"--?(?:no)?config\.(?P<field>[^=]+)(?:=(?P<value>.*))?", re.DOTALL)


def run(
    main: Callable[[], None],
    *,
    default_config: str | None = None,
    interrupted: str = "Interrupted.",
) -> NoReturn:
    """Parse the flags, call `main`, and leave: with 0, or with one sentence on stderr.

    `InputError`, an unknown flag or field, a value of the wrong type and a stray argument end with
    their sentence and status 2, as do a full disk and a path that is too long or forbidden; Ctrl-C
    with `interrupted` and status 130. Any other exception is a defect of the program and keeps its
    traceback.

    Args:
      main: called once the flags are parsed.
      default_config: what `--config` is, for its overrides, where the command line has none.
      interrupted: what to say after Ctrl-C.
    """

    def flushed(_: Sequence[str]) -> None:
        if not flags.FLAGS["verbosity"].present:  # Orbax tells twenty lines a checkpoint
            logging.set_verbosity(logging.ERROR)
        main()
        sys.stdout.flush()  # so that a closed pipe shows here and not at the interpreter's exit

    try:
        app.run(flushed, flags_parser=lambda argv: parse_flags(argv, default_config))
    except InputError as error:
        _leave(str(error), BAD_INPUT)
    except KeyboardInterrupt as error:
        _leave(str(error) or interrupted, INTERRUPTED)
    except BrokenPipeError:  # `--list | head`: the reader left, which is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if error.errno not in _OF_THE_MACHINE:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _leave(f"{where}{error.strerror or error}; name another path or make room.", BAD_INPUT)
    sys.exit(0)


def parse_flags(argv: Sequence[str], default_config: str | None = None) -> list[str]:
    """`flags.FLAGS(argv)`, its errors turned into `InputError` and status 0 for `--help`.

    Files given as `--register` are run first, as configurations are read while flags are parsed. A
    configuration file is looked for in the working directory, then in the launcher's project;
    `--config.seeds=42+43` is understood as in the configuration string.

    Raises:
      InputError: a flag, a field or a value that nobody knows, or an argument that is no flag.
    """
    _register(argv)
    argv = _with_known_overrides(_with_config_path(argv))
    try:
        if default_config and not any(map(_CONFIG_FLAG.fullmatch, argv[1:])):
            flags.FLAGS.set_default("config", default_config)
            flags.FLAGS["config"].default_as_str = None  # the flag's help says it better
        rest = flags.FLAGS(argv)
    except flags.Error as error:
        raise InputError(_sentence(error)) from error
    except SystemExit:  # absl leaves with 1 after --help
        sys.exit(0)
    if len(rest) > 1:
        raise InputError(f"{rest[1]!r} is not a flag; flags are written --name=value, see --help.")
    return rest


def to_config_dict(values: Mapping[str, Any]) -> ConfigDict:
    """A run as a flat `ConfigDict`: every field is there and keeps its type when overridden.

    Args:
      values: fields by name; those left out have the default of their dataclass.

    Raises:
      InputError: an unknown field or a refused value.
    """
    run = config.from_flat(values)
    flat = config.to_flat(run)
    for name, field in config.flat_fields().items():
        kind, optional = recipes.kind_of(field)
        if kind is tuple:  # which a flag can set, and a list it cannot
            flat[name] = tuple(flat[name])
        if optional:
            flat[name] = config_dict.FieldReference(flat[name], field_type=kind)
    return ConfigDict(flat)


def get_config(corpus: str, string: str = recipes.DEFAULT) -> ConfigDict:
    """The `ConfigDict` of a configuration string: the body of every file in experiments/configs."""
    return to_config_dict(recipes.recipe(corpus, string))


def run_config(values: ConfigDict) -> RunConfig:
    """The checked run behind a `--config` flag's value.

    Raises:
      InputError: an unknown field or a refused value.
    """
    return config.from_flat(values.to_dict())


def overrides(flag: str = "config") -> dict[str, Any]:
    """The fields given as `--config.FIELD=VALUE`.

    Raises:
      InputError: a field that decides which recipe is read, and so cannot be set after it.
    """
    values = dict(_config_flag(flag).override_values)
    in_the_string = dict.fromkeys(("preset", "manifold"), "choose it in the configuration string")
    for field, advice in (recipes.SAID_ELSEWHERE | in_the_string).items():
        if field in values:
            raise InputError(f"--config.{field} would not change the recipe; {advice}.")
    return values


def default_workdir(flag: str = "config") -> Path:
    """`runs/CORPUS/NAME`: the configuration file's name and the string's, made safe."""
    path, _, string = _config_flag(flag).config_filename.partition(":")
    tidy = ",".join(item.strip() for item in (string or recipes.DEFAULT).split(","))
    return Path("runs", Path(path).stem, recipes.name(tidy))


def required(flag: flags.FlagHolder, example: str) -> str:
    """The value of a flag that has no default.

    Raises:
      InputError: it was not given.
    """
    if not flag.value:
        raise InputError(f"--{flag.name} is missing; give one, e.g. --{flag.name}={example}.")
    return flag.value


def record_paths(
    results: flags.FlagHolder, readme: flags.FlagHolder, project: Path
) -> tuple[Path, Path | None]:
    """The folder of the record and the README with its table, by the flags `results` and `readme`.

    The project's, unless told otherwise; a record elsewhere has a README only where one is named.
    """
    folder = Path(results.value or project / "experiments" / "results")
    if readme.value:
        return folder, Path(readme.value)
    return folder, None if results.value else project / "README.md"


def command(flag: str = "config") -> str:
    """The command line that repeats this training run on any machine: for the record.

    Folders (`--workdir`, `--data_dir`) are of this machine and so left out; a file that registers a
    backbone is named as it was.

    Args:
      flag: the name of the configuration's flag.
    """
    arguments = [f"--register={path}" for path in flags.FLAGS.register]
    config_flag = _config_flag(flag)
    if config_flag.present:
        path, colon, string = config_flag.config_filename.partition(":")
        if Path(path).parent.parts[-2:] == ("experiments", "configs"):
            path = f"experiments/configs/{Path(path).name}"
        arguments.append(f"--{flag}={path}{colon}{string}")
    for field, value in config_flag.override_values.items():
        text = "+".join(map(str, value)) if isinstance(value, tuple) else value
        arguments.append(f"--{flag}.{field}={text}")
    return command_line(*arguments)


def _config_flag(name: str) -> Any:
    """The flag itself, of a class that ml_collections keeps private."""
    return flags.FLAGS[name]


def _leave(sentence: str, status: int) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(status)


def _register(argv: Sequence[str]) -> None:
    """Run the files given as `--register=FILE`, or `--register FILE`.

    Raises:
      InputError: there is no such file.
    """
    for argument, following in itertools.pairwise([*argv[1:], ""]):
        match = _REGISTER_FLAG.fullmatch(argument)
        if not match:
            continue
        path = match["value"] if match["value"] is not None else following
        if not os.path.isfile(path):
            raise InputError(f"--register={path} is no file; give a Python file.")
        runpy.run_path(path, run_name="registered")


def _with_config_path(argv: Sequence[str]) -> list[str]:
    """`argv` with the path in `--config=PATH[:STRING]` (or `--config PATH`) made one that exists.

    Raises:
      InputError: there is no such file, here or in the launcher's project.
    """
    argv = list(argv)
    for i, argument in enumerate(argv[1:], start=1):
        match = _CONFIG_FLAG.fullmatch(argument)
        if not match:
            continue
        if match["value"] is not None:
            argv[i] = f"--config={_existing(match['value'], argv[0])}"
        elif i + 1 < len(argv):
            argv[i + 1] = _existing(argv[i + 1], argv[0])
    return argv


def _with_known_overrides(argv: Sequence[str]) -> list[str]:
    """`argv` with `--config.seeds=42+43` and its like as the tuple that ml_collections reads.

    Raises:
      InputError: a `--config.FIELD` that is no field, which ml_collections would let escape.
    """
    argv = list(argv)
    for i, argument in enumerate(argv[1:], start=1):
        match = _OVERRIDE.fullmatch(argument)
        if not match:
            continue
        name, value = match["field"], match["value"] or ""
        fields = config.flat_fields()
        if name not in fields:
            raise InputError(unknown_name("--config field", name, fields))
        if recipes.kind_of(fields[name])[0] is tuple and re.fullmatch(_NUMBERS, value):
            argv[i] = f"--config.{name}=({value.replace('+', ',')},)"
    return argv


def _existing(value: str, launcher: str) -> str:
    path, colon, string = value.partition(":")
    project = Path(launcher).resolve().parent.parent
    for candidate in (Path(path), project / path):
        if candidate.suffix == ".py" and candidate.is_file():
            return f"{candidate}{colon}{string}"
    known = ", ".join(sorted(p.name for p in (project / "experiments/configs").glob("*.py")))
    raise InputError(
        f"--config={path} is no configuration file; give one with a string, "
        f"as in experiments/configs/pydoc.py:hyprilm (there are {known})."
    )


def _sentence(error: flags.Error) -> str:
    """What to say about a flag that absl or ml_collections refused."""
    chain: list[BaseException] = [error]
    while chain[-1].__context__ is not None:
        chain.append(chain[-1].__context__)
    ours = [cause for cause in chain if isinstance(cause, InputError)]
    if ours:  # what get_config raised, which ml_collections raises again with its traceback as text
        return str(ours[-1])
    if isinstance(error, flags.UnrecognizedFlagError):
        own = [f.name for f in flags.FLAGS.get_key_flags_for_module(sys.argv[0])]
        fields = config.flat_fields() if "config" in flags.FLAGS else {}
        if (meant := nearest(error.flagname, [*own, *fields])) in fields:
            return (
                f"--{error.flagname} is no flag; write --config.{meant}=VALUE, or ,{meant}=VALUE "
                "in the configuration string."
            )
        return unknown_name("flag", f"--{error.flagname}", [f"--{name}" for name in own])
    refused = re.match(r"flag --config\.(\w+)=(.*?): ", str(error), re.DOTALL)
    if refused:
        field, value = refused.groups()
        try:
            recipes.parse(field, value)
        except InputError as better:
            return f"--config.{better}"
        return f"--config.{field}={value} cannot be a flag; write ,{field}={value} in the string."
    return str(error).strip().rstrip(".") + "."
