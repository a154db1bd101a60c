"""Options as Python's own command line has them: -m MODULE is the last, and the rest is the module's."""

from __future__ import annotations

import click


class AsPython(click.Command):
    """A command with an option ``-m MODULE`` and a command line after its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._ended(ctx, args))

    def _ended(self, ctx: click.Context, args: list[str]) -> list[str]:
        """``args`` with ``--`` after ``-m MODULE``, where that stands before the first word of a command."""
        flags = {
            name
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and (param.is_flag or param.count)
            for name in (*param.opts, *param.secondary_opts)
        }
        i = 0
        while i < len(args) and args[i].startswith("-") and args[i] != "--":
            word = args[i]
            if word.startswith("-m") and len(word) > 2:
                return [*args[:i], "-m", word[2:], "--", *args[i + 1 :]]
            if word == "-m":
                return [*args[: i + 2], "--", *args[i + 2 :]]
            i += 1 if word in flags or "=" in word else 2
        return args
