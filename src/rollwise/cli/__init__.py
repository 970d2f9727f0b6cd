"""Command line: one thin command per function."""

import _thread
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.main import get_command

from rollwise.cli import components, logs, mapping, numbers  # noqa: F401  # their commands, in the order of the help

# isort: split
from rollwise.cli import audit, gate, labels, planning, runs  # noqa: F401  # the same
from rollwise.cli.app import BAD_INPUT, DONE, FAILED, INTERRUPTED, app
from rollwise.cli.options import in_options
from rollwise.cli.tables import say
from rollwise.errors import ArgumentError, ReadError, RollwiseError, brief, in_one_line, is_interrupt
from rollwise.readers.roles.gathered import gathering

if TYPE_CHECKING:
    from rollwise.readers.roles.questions import Question

__all__ = ["app", "run"]

_STYLE = "matplotlibrc"  # settings of Matplotlib, which it also looks for in the working folder
_ONE_LINE = "1000"  # characters: more than any help text has


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code.

    0 done, 1 a gate failed or all came to errors, 2 bad usage or input, 3 a gate is undecided.
    """
    _open_streams()
    _set_style_aside()
    words = sys.argv[1:] if arguments is None else arguments
    if _is_completion(words):
        # Typer wraps help texts at this width, and fish takes each line for one more completion.
        os.environ["COLUMNS"] = _ONE_LINE
    with signals_heeded():
        code = _code(words)
    _empty_streams()
    sys.exit(code)


def _set_style_aside() -> None:
    """Load Matplotlib without the `matplotlibrc` of the working folder: it may hold others' logs, and settings can run LaTeX."""
    if not Path(_STYLE).is_file():
        return
    named = os.environ.get("MATPLOTLIBRC")
    if named:
        os.environ["MATPLOTLIBRC"] = os.path.realpath(named)
    with chdir(Path(__file__).parent):
        import matplotlib  # noqa: F401, ICN001  # it looks for its settings once, in the folder that it is loaded in
    if not named:
        say(f"{_STYLE} in this folder is not used; to use it, name it: MATPLOTLIBRC={_STYLE} rollwise ...")


def _code(words: list[str]) -> int:
    """Return the exit code, print a message on failure, and last what the command asks."""
    with gathering() as questions:
        code = _exit_code(words, questions)
    if questions and code != INTERRUPTED:
        from rollwise.cli.asking import ask

        ask(words, questions, has_written=code != BAD_INPUT)
    return code


@cache
def _commands() -> Callable[..., Any]:
    """Return all commands with their options, which Typer needs 50 ms to build."""
    return get_command(app)


def _exit_code(words: list[str], questions: "list[Question]") -> int:
    """Run the command; questions of what could not be read come to the others."""
    try:
        _check_words(words)
        code = _commands()(args=words, standalone_mode=False, prog_name="rollwise")
        sys.stdout.flush()  # a full disk or a closed pipe is known now, not when Python ends
    # Bad usage, bad input, a closed pipe, the operating system, an exit, and Ctrl-C, in this order: each is one sentence
    # and a code. Any other exception is a bug and keeps its traceback.
    except typer.exceptions.TyperException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "rollwise")
        message = brief(" ".join(error.format_message().replace("Value error, ", "").split())).rstrip(".")
        if message:  # without any argument, the help is printed already
            say(f"{message}{' See' if message.endswith('?') else '; see'} `{command} --help`")
        code = BAD_INPUT
    except (RollwiseError, MemoryError) as error:
        say(in_options(str(error)) or "not enough memory for this; read fewer logs at once")
        _take_questions(error, questions)
        code = BAD_INPUT
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
        code = _quietly()
    except OSError as error:
        say(
            brief(
                f"{error.filename or 'stdout, or the working folder'}: {error.strerror}; check the path and its permissions"
            )
        )
        code = BAD_INPUT
    except SystemExit as error:  # rollwise's own commands return a code; Typer's shell completion exits
        code = error.code if _is_completion(words) else _ended(error)
    except BaseException as error:
        if not (isinstance(error, typer.Abort) or is_interrupt(error)):
            raise
        code = INTERRUPTED
    if code == INTERRUPTED:  # most often it is Typer's word for Ctrl-C
        say("interrupted; no partially written files remain")
    return int(code or DONE)


def _take_questions(error: BaseException, questions: "list[Question]") -> None:
    """Add the questions of what could not be read to others, and show the columns that they are about."""
    if isinstance(error, ReadError) and error.questions:
        from rollwise.cli.asking import show_columns

        show_columns(error)
        questions += [question for question in error.questions if question not in questions]


def _check_words(words: list[str]) -> None:
    """Refuse an empty word: as a path it would be the working folder, though most often it is a variable that is not set."""
    if "" in words:
        place = words.index("")
        where = f"after `{words[place - 1]}`" if place else "at the beginning"
        raise ArgumentError(f"empty argument {where}; remove it, or set the shell variable it comes from")


def _is_completion(words: list[str]) -> bool:
    """Return whether the shell asks for completions, or the user for the script that installs them."""
    return "_ROLLWISE_COMPLETE" in os.environ or bool({"--install-completion", "--show-completion"} & set(words))


def _open_streams() -> None:
    """Discard what is written to a standard stream that a scheduler closed; escape what its encoding cannot say.

    Otherwise the first file that is opened would get its number, and receive the messages of native code.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # until the process ends
    for stream in (sys.stdout, sys.stderr):
        # A pipe of Windows has a code page, which knows few signs: any other would be a traceback instead of a table.
        if isinstance(stream, io.TextIOWrapper) and stream.errors in {"strict", "surrogateescape"}:
            stream.reconfigure(errors="backslashreplace")


def _empty_streams() -> None:
    """Write what streams still hold; a stream that takes no more loses it, as Python would end with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a full disk or a closed pipe; a stream that was closed here
            with suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


@contextmanager
def signals_heeded() -> Iterator[None]:
    """Handle the signals of schedulers and closed terminals like Ctrl-C: remove drafts and keep finished work.

    A signal that is ignored, as under `nohup`, stays ignored. Python loses an interrupt that comes while it deletes an object:
    such an interrupt is sent again.
    """
    # Both handlers are restored at the end, as tests and notebooks call `run` in a process that goes on.
    hook, thread = sys.unraisablehook, _thread.get_ident()
    handlers: dict[int, Any] = {}

    def again() -> None:
        if handlers and sys.unraisablehook is lost and hasattr(signal, "pthread_kill"):
            # A real signal wakes a thread that waits, and does so where SIGINT is ignored (a job in the background).
            signal.pthread_kill(thread, next(iter(handlers)))
        else:
            _thread.interrupt_main()

    def lost(what: "sys.UnraisableHookArgs") -> None:
        if what.exc_type is KeyboardInterrupt:
            Timer(0.01, again).start()  # an exception here would be lost, too
        else:
            hook(what)

    for name in ("SIGTERM", "SIGHUP"):  # not every system has the second
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # only the main thread can set handlers
                handlers[number] = signal.signal(number, signal.default_int_handler)
    sys.unraisablehook = lost
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _ended(error: SystemExit) -> int:
    """Raise SystemExit of user code, or of Typer after a closed pipe, as an error."""
    if isinstance(error.__context__, BrokenPipeError):
        return _quietly()
    say(f"stopped by user code ({in_one_line(error)}), before the work was done; fix that code")
    return FAILED


def _quietly() -> int:
    """Close stderr: at its end, Python would complain about output that could not be written."""
    sys.stderr.close()
    return DONE
