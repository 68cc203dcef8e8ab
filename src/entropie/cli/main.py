"""The entry point: commands, exit codes, and one sentence instead of a traceback."""

from __future__ import annotations

import contextlib
import errno
import sys

import click

from entropie._version import __version__
from entropie.atomic import FULL
from entropie.cli import output, stopping
from entropie.cli.apply import apply
from entropie.cli.assess import assess, attributes, demo
from entropie.cli.calibrate import calibrate
from entropie.cli.check import check
from entropie.cli.collect import collect, doctor, relay, serve
from entropie.cli.estimate import estimate
from entropie.cli.follow_up import compare, report
from entropie.cli.generalise import generalise
from entropie.cli.guarantee import guarantee
from entropie.cli.obfuscate import obfuscate
from entropie.cli.plan import plan
from entropie.cli.reproduce import reproduce
from entropie.cli.scores import scores
from entropie.cli.simulate import simulate
from entropie.cli.sweep import sweep
from entropie.errors import EntropieError, InvalidInput, OutputFailed, Unreachable, interrupted, unexpected
from entropie.words import size

EXIT_DONE, EXIT_LIMIT_NOT_MET, EXIT_BAD_INPUT = 0, 1, 2
EXIT_UNEXPECTED, EXIT_NOT_WRITTEN, EXIT_INTERRUPTED = 70, 74, 130
LEAST_BYTES, LEAST_FILES = 10**9, 64
"""Of addresses, and of open files: with fewer the libraries that read, compute and draw give up at any moment, with
words of their own."""

_ANYWHERE = ("--debug", "--show-values")
_COMMANDS: dict[str, dict[click.Command, str]] = {
    "Measure the risk": {
        demo: "assess real data (MovieLens)",
        assess: "how identifiable are the people behind some events?",
        attributes: "the same for a table with one row per person",
        scores: "the same for the scores of any matcher, such as a biometric one",
    },
    "Decide and follow up": {
        report: "make the report of an assessment again",
        check: "several limits over several data sets, one exit code",
        compare: "has the risk risen since another assessment?",
    },
    "Lower it": {
        sweep: "the cheapest combination of mitigations that meets a limit",
        generalise: "the same for a table with one row per person",
        apply: "write the safer file that either found",
        guarantee: "what a mechanism guarantees",
        calibrate: "the setting that guarantees what is wanted",
        obfuscate: "send a column through a mechanism",
        estimate: "count what is left in the reports",
    },
    "Ask people": {
        collect: "a collection document; stores added up",
        serve: "take reports from devices and count them",
        relay: "between devices and a collector: shuffles, hands on no address",
        doctor: "check what a service keeps",
    },
    "Plan and research": {
        plan: "what a run takes: hours, memory, bytes moved",
        simulate: "events of people who do not exist, at any scale",
        reproduce: "the paper's figures",
    },
}


class Commands(click.Group):
    """All commands, listed by what they are for."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of commands per purpose."""
        widest = max(len(name) for name in self.commands)
        for title, commands in _COMMANDS.items():
            with formatter.section(title):
                rows = [(str(command.name).ljust(widest), line) for command, line in commands.items()]
                formatter.write_dl(rows, col_max=widest, col_spacing=2)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="entropie")
@click.option("--debug", is_flag=True, expose_value=False, help="Show where an error comes from (may show values).")
@click.option(
    "--show-values", is_flag=True, expose_value=False, help="Quote the data in error messages, which else name places."
)
def cli() -> None:
    """How identifiable is this data, what must be added so that people cannot be re-identified, and what is it still
    good for?

    Exit codes: 0 done or limit met, 1 limit not met, 2 bad input or usage, 3 the data cannot tell, 70 an error of the
    program, 74 a file could not be written, 129, 130 and 143 stopped by a signal.
    """
    with contextlib.suppress(ImportError):  # there is no such limit
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY and most < LEAST_BYTES:
            raise InvalidInput(
                f"This process may address {size(most)} (see `ulimit -v`), and the program needs {size(LEAST_BYTES)} "
                "without any data; raise that limit."
            )
        files, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= files < LEAST_FILES:
            if 0 <= most_files < LEAST_FILES:
                raise InvalidInput(
                    f"This process may open {most_files} files (see `ulimit -n`), and the program needs {LEAST_FILES}; "
                    "raise that limit."
                )
            resource.setrlimit(resource.RLIMIT_NOFILE, (LEAST_FILES, most_files))


for listed in _COMMANDS.values():
    for command in listed:
        cli.add_command(command)


def main() -> None:
    """Run the command line and end with its exit code."""
    stopping.heed()
    _leave_no_core()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))


def _leave_no_core() -> None:
    """A process that dies leaves no image of its memory, which holds what was read."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def run(arguments: list[str]) -> int:
    """Run one command and turn every problem into one sentence; returns the exit code.

    `--debug` and `--show-values` may stand anywhere before `--`.
    """
    stopping.forget()
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    asked = {word for word in ours if word in _ANYWHERE}
    arguments = [word for word in ours if word not in asked] + arguments[len(ours) :]
    try:
        result = cli.main(arguments, prog_name="entropie", standalone_mode=False, obj="--debug" in asked)
        _tell_of_compiling(arguments)
        return result if isinstance(result, int) else EXIT_DONE
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else EXIT_UNEXPECTED
    except BaseException as problem:
        if "--debug" in asked:
            output.trace(problem)
        return _failed(problem, arguments, "--show-values" in asked)


def _tell_of_compiling(arguments: list[str]) -> None:
    """Say why every run takes long where compiled code cannot be kept."""
    caching = sys.modules.get("entropie.kernels.caching")
    if caching is not None and not caching.kept() and not {"--quiet", "--json"} & set(arguments):
        output.complain(
            "What was compiled for this run could not be kept for the next; name a folder with NUMBA_CACHE_DIR."
        )


def _failed(problem: BaseException, arguments: list[str], values: bool) -> int:
    """Say what went wrong; the exit code for it. Only an answer to what was asked is 1."""
    match problem:
        case click.exceptions.NoArgsIsHelpError():
            problem.show()
            return EXIT_BAD_INPUT
        case click.UsageError():
            hint = f" Try '{problem.ctx.command_path} --help'." if problem.ctx else ""
            said = problem.format_message()
            return _fail(f"{said if said.endswith('?') else said.rstrip('.') + '.'}{hint}", EXIT_BAD_INPUT)
        case click.ClickException():
            return _fail(problem.format_message(), EXIT_BAD_INPUT)
        case output.Ended():
            return _fail(_on_command_line(problem.problem, arguments, values), problem.code)
        case Unreachable():
            return _fail(_on_command_line(problem, arguments, values), EXIT_LIMIT_NOT_MET)
        case OutputFailed():
            return _fail(_on_command_line(problem, arguments, values), EXIT_NOT_WRITTEN)
        case EntropieError():
            return _fail(_on_command_line(problem, arguments, values), EXIT_BAD_INPUT)
        case BrokenPipeError() if output.nobody_reads():
            return EXIT_DONE
        case OSError() if problem.errno in FULL:
            return _fail(f"{problem.strerror}: {problem.filename or 'standard output'}.", EXIT_NOT_WRITTEN)
        case OSError() if problem.errno in (errno.EMFILE, errno.ENFILE):
            return _fail("No more files may be opened here (see `ulimit -n`); raise that limit.", EXIT_UNEXPECTED)
        case FileNotFoundError() if problem.filename is None:
            return _fail("The folder that this runs in is gone; change to one that is there.", EXIT_BAD_INPUT)
        case OSError():
            return _fail(f"{problem}.", EXIT_BAD_INPUT)
        case MemoryError():
            return _fail(unexpected(problem), EXIT_UNEXPECTED)
    if isinstance(problem, click.Abort) or interrupted(problem):
        return _fail(stopping.sentence(), EXIT_INTERRUPTED)
    return _fail(f"{unexpected(problem)} Run again with --debug to see more.", EXIT_UNEXPECTED)


def _on_command_line(problem: EntropieError, arguments: list[str], values: bool) -> str:
    """The message with parameters spelled as the options of the command that was run."""
    command = next((cli.commands[word] for word in arguments if word in cli.commands), cli)
    spelled = {parameter.name: max(parameter.opts, key=len) for parameter in command.params}

    def option(name: str) -> str:
        name = "out" if name == "folder" else name
        found = spelled.get(name) or spelled.get(name.removesuffix("_size")) or ""
        return found if found.startswith("--") else f"--{name.replace('_', '-')}"

    return problem.on_command_line(option, values=values)


def _fail(sentence: str, code: int) -> int:
    output.complain(sentence)
    return code
