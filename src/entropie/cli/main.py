"""The entry point: commands, exit codes, and one sentence instead of a traceback."""

from __future__ import annotations

import signal
import sys

import click

from entropie._version import __version__
from entropie.cli.assess import assess, demo
from entropie.cli.attributes import attributes
from entropie.cli.estimate import estimate
from entropie.cli.gate import compare
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


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="entropie")
def cli() -> None:
    """How identifiable is this data, what must be added so that it is not, and what is it still good for?

    Exit codes: 0 done or limit met, 1 limit not met, 2 bad input or usage, 3 inconclusive, 130 interrupted.
    """


for command in (
    demo,
    assess,
    report,
    compare,
    sweep,
    attributes,
    scores,
    guarantee,
    calibrate,
    obfuscate,
    estimate,
    plan,
    simulate,
    reproduce,
):
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
