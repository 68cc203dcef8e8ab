"""The entry point: commands, exit codes, and one sentence instead of a traceback."""

from __future__ import annotations

import signal
import sys

import click

from entropie._version import __version__
from entropie.cli.assess import assess, demo
from entropie.cli.attributes import attributes
from entropie.cli.compare import compare
from entropie.cli.estimate import estimate
from entropie.cli.guarantee import calibrate, guarantee
from entropie.cli.obfuscate import obfuscate
from entropie.cli.plan import plan
from entropie.cli.report import report
from entropie.cli.reproduce import reproduce
from entropie.cli.scores import scores
from entropie.cli.simulate import simulate
from entropie.cli.sweep import sweep
from entropie.errors import EntropieError, Unreachable

EXIT_DONE, EXIT_LIMIT_NOT_MET, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130


_COMMANDS: dict[str, dict[click.Command, str]] = {
    "Measure the risk": {
        demo: "assess real data (MovieLens)",
        assess: "how identifiable are the people behind some events?",
        attributes: "the same for a table with one row per person",
        scores: "the same for the scores of any matcher, such as a biometric one",
    },
    "Decide and follow up": {
        report: "make the report of an assessment again",
        compare: "has the risk risen since another assessment?",
    },
    "Lower it": {
        sweep: "what coarser items and times, or fewer events, would do",
        guarantee: "what a mechanism guarantees",
        calibrate: "the setting that guarantees what is wanted",
        obfuscate: "send a column through a mechanism",
        estimate: "count what is left in the reports",
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
def cli() -> None:
    """How identifiable is this data, what must be added so that people cannot be re-identified, and what is it still
    good for?

    Exit codes: 0 done or limit met, 1 limit not met, 2 bad input or usage, 3 the data cannot tell, 130 interrupted.
    """


for listed in _COMMANDS.values():
    for command in listed:
        cli.add_command(command)


def main() -> None:
    """Run the command line and turn every expected problem into one sentence and an exit code."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `entropie ... | head` ends like any other filter
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; return its exit code."""
    try:
        result = cli.main(arguments, prog_name="entropie", standalone_mode=False)
        return result if isinstance(result, int) else EXIT_DONE
    except click.exceptions.NoArgsIsHelpError as shown:
        shown.show()
        return EXIT_BAD_INPUT
    except click.UsageError as problem:
        hint = f" Try '{problem.ctx.command_path} --help'." if problem.ctx else ""
        return _fail(f"{problem.format_message()}{hint}", EXIT_BAD_INPUT)
    except click.ClickException as problem:
        return _fail(problem.format_message(), EXIT_BAD_INPUT)
    except Unreachable as problem:
        return _fail(_on_command_line(problem, arguments), EXIT_LIMIT_NOT_MET)
    except EntropieError as problem:
        return _fail(_on_command_line(problem, arguments), EXIT_BAD_INPUT)
    except (OSError, MemoryError) as problem:
        return _fail(f"{problem or 'Memory is exhausted'}.", EXIT_BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        return _fail("Stopped; nothing was written.", EXIT_INTERRUPTED)


def _on_command_line(problem: EntropieError, arguments: list[str]) -> str:
    """The message with parameters spelled as the options of the command that was run."""
    command = next((cli.commands[word] for word in arguments if word in cli.commands), cli)
    spelled = {parameter.name: max(parameter.opts, key=len) for parameter in command.params}

    def option(name: str) -> str:
        found = spelled.get(name) or spelled.get(name.removesuffix("_size")) or ""
        return found if found.startswith("--") else f"--{name.replace('_', '-')}"

    return problem.on_command_line(option)


def _fail(sentence: str, code: int) -> int:
    click.echo(f"entropie: {sentence}", err=True)
    return code
