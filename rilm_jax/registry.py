"""Things by name: the package's own, and those that users add."""

from collections.abc import Mapping
from typing import Generic, TypeVar

from rilm_jax.errors import InputError, unknown_name

T = TypeVar("T")


class Registry(Generic[T]):
    """One kind of thing by name.

    Args:
      kind: what one is called, for messages.
      own: the package's, whose names stay theirs.
    """

    def __init__(self, kind: str, own: Mapping[str, T]):
        self._kind, self._own, self._added = kind, dict(own), dict[str, T]()

    def names(self) -> tuple[str, ...]:
        """The names that `get` knows, sorted."""
        return tuple(sorted(self._own | self._added))

    def get(self, name: str) -> T:
        """What is registered under `name`.

        Raises:
          InputError: nothing is; the message has the nearest name.
        """
        known = self._own | self._added
        if name not in known:
            raise InputError(unknown_name(self._kind, name, known))
        return known[name]

    def register(self, name: str, thing: T) -> None:
        """Make `get(name)` give `thing`, in place of what was registered under that name before.

        Raises:
          InputError: the name is that of one of the package's own.
        """
        if name in self._own:
            raise InputError(f"The {self._kind} name {name!r} is taken; choose another.")
        self._added[name] = thing
