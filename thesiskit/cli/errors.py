"""How the command line tells errors: in one or two lines, with an exit code."""

import traceback
from typing import Any

import click

from thesiskit.errors import ThesiskitError, brief, cut


class Commands(click.Group):
    """A group of commands that prints an error as one line and exits with its code."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments before the name of a command; shorten usage errors to one line."""
        try:
            return super().make_context(*args, **kwargs)
        except click.ClickException as error:
            raise _cut(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exit with 2 for a mistake of the user, 1 for a failure, 130 for Ctrl-C."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            raise _cut(error) from None
        except (click.exceptions.Exit, click.Abort):
            raise
        except ThesiskitError as error:
            show_trace(ctx)
            show_error(error)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo(
                "Interrupted. Finished cells are kept; the same command continues from there.",
                err=True,
            )
            ctx.exit(130)
        except BrokenPipeError:
            ctx.exit(0)
        except OSError as error:
            show_trace(ctx)
            where = f"{error.filename}: " if error.filename else ""
            show_error(ThesiskitError(f"{where}{error.strerror or error}"))
            ctx.exit(1)
        except MemoryError:
            show_trace(ctx)
            show_error(ThesiskitError("this machine has not enough memory"))
            ctx.exit(1)
        except Exception as error:
            if not show_trace(ctx):
                show_error(unforeseen(error))
            ctx.exit(1)


def _cut(error: click.ClickException) -> click.ClickException:
    """Return click's error, shortened where it quotes long input."""
    error.message = cut(error.message, 300)  # type: ignore[misc]
    return error


def unforeseen(error: Exception) -> ThesiskitError:
    """Return a ThesiskitError for an error that the program did not expect."""
    return ThesiskitError(f"{type(error).__name__}: {error} (run with -v to see where)")


def show_error(error: ThesiskitError) -> None:
    """Print an error: its first lines, or with -v all of it."""
    context = click.get_current_context(silent=True)
    text = str(error) if context is not None and _verbose(context) else brief(str(error))
    for line in text.splitlines():
        click.echo(f"Error: {line}", err=True)


def show_trace(ctx: click.Context) -> bool:
    """With -v, print the traceback of an error; return whether -v was given."""
    if _verbose(ctx):
        traceback.print_exc()
    return _verbose(ctx)


def _verbose(ctx: click.Context) -> bool:
    return bool(ctx.find_root().meta.get("thesiskit.verbose"))


def _set_verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta["thesiskit.verbose"] = True


VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_set_verbose,
    help="Show where in the code an error came from.",
)
