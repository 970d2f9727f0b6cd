"""Shell completion as a user meets it: in a real bash, zsh and fish, in a terminal of its own."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

SHELLS = {
    "bash": ["--noprofile", "-i"],
    "zsh": ["-i"],
    "fish": ["-i"],
}
PROMPT = "READY>"
STARTUP = {
    "bash": (".bashrc", f"PS1='{PROMPT}'\nbind 'set bell-style none'\n"),
    "zsh": (".zshrc", f"PROMPT='{PROMPT}'\nunsetopt beep\nautoload -Uz compinit && compinit -u\n"),
    "fish": (
        ".config/fish/config.fish",
        f"function fish_prompt; echo -n '{PROMPT}'; end\nfunction fish_greeting; end\nset -g fish_autosuggestion_enabled 0\n",
    ),
}
CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?>=]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>k]|[\x07\r\x0f]"
)
LIMIT = 60  # seconds for one answer of a shell


class Terminal:
    """A shell in a pseudoterminal."""

    def __init__(self, shell: str, environment: dict[str, str], folder: Path) -> None:
        self.pid, self.handle = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(shell, [shell, *SHELLS[shell]], environment)
        self.text = ""

    def type(self, keys: str) -> None:
        """Type these keys; what the terminal showed before is forgotten."""
        self.text = ""
        os.write(self.handle, keys.encode())

    def until(self, pattern: str) -> str:
        """Return what the terminal shows, as soon as the pattern occurs in it."""
        end = time.monotonic() + LIMIT
        raw = b""
        while not re.search(pattern, self.text):
            assert time.monotonic() < end, f"{pattern!r} does not occur in {self.text!r}"
            if select.select([self.handle], [], [], 0.1)[0]:
                raw += os.read(self.handle, 65536)
                if b"\x1b[c" in raw or b"\x1b[0c" in raw:  # fish asks what kind of terminal this is, and waits
                    os.write(self.handle, b"\x1b[?1;2c")
                    raw = raw.replace(b"\x1b[c", b"").replace(b"\x1b[0c", b"")
                self.text = CONTROL.sub("", raw.decode(errors="replace"))
        return self.text

    def close(self) -> None:
        """End the shell."""
        with suppress(OSError):
            os.close(self.handle)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    """The name of a shell, if it is installed."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed here")
    return str(request.param)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An empty home, with the command `rollwise` on the path."""
    command = tmp_path / "bin" / "rollwise"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rollwise "$@"\n')
    command.chmod(0o755)
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("_TYPER", "_ROLLWISE", "ZDOT", "XDG"))
    }
    places = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    source = os.pathsep.join([str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")])
    return inherited | {
        "HOME": str(tmp_path),
        "PATH": places,
        "PYTHONPATH": source,
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
    }


@pytest.fixture
def terminal(shell: str, environment: dict[str, str], tmp_path: Path) -> Iterator[Terminal]:
    """A shell in which the user has typed `rollwise --install-completion`, started anew."""
    file, lines = STARTUP[shell]
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(lines)
    (tmp_path / "my_turns.csv").write_text("rollout_id,turn,succeeded\na,1,true\nb,1,false\n")
    for typed in ("rollwise --install-completion\n", None):
        opened = Terminal(shell, environment, tmp_path)
        try:
            opened.until(PROMPT)
            if typed is None:
                yield opened
            else:
                opened.type(typed)
                assert f"{shell} completion installed" in opened.until(f"completion installed[^>]*{PROMPT}")
        finally:
            opened.close()


def test_tab_completes_in_a_shell(shell: str, terminal: Terminal) -> None:
    """TAB completes a command, an option, a metric and a file, and the line that it makes runs."""
    if shell == "zsh":  # Typer's script for zsh only loads itself at the first TAB of a session
        terminal.type("rollwise ga\t\x15\n")
        terminal.until(PROMPT)
    terminal.type("rollwise summ\t")
    terminal.until("arize ")
    terminal.type("--metr\t")
    terminal.until("ic ")
    terminal.type("attack_s\t")
    terminal.until("uccess ")
    terminal.type("my_\t")
    terminal.until("turns.csv")
    terminal.type("\n")
    assert re.search("attack success +95 % interval", terminal.until(rf"n = 2 rollouts\.\s[^>]*{PROMPT}"))


def test_the_completion_script_is_shown(shell: str, environment: dict[str, str]) -> None:
    """`--show-completion` prints the script for the shell in which it is typed."""
    command = [shell, "-c", "rollwise --show-completion; true"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_ROLLWISE_COMPLETE=complete_{shell}" in done.stdout


@pytest.mark.parametrize(
    ("shell_asked", "variables"),
    [
        ("bash", {"COMP_WORDS": "rollwise ga", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "rollwise ga"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "rollwise ga", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_rollwise_answers_each_shell(environment: dict[str, str], shell_asked: str, variables: dict[str, str]) -> None:
    """TAB after `rollwise ga` offers `gate`, and nothing is written into the line that the user types."""
    asked = environment | {"_ROLLWISE_COMPLETE": f"complete_{shell_asked}", **variables}
    done = subprocess.run(["rollwise"], capture_output=True, text=True, env=asked, check=False)
    assert "gate" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


def test_a_long_help_text_is_one_line(environment: dict[str, str]) -> None:
    """Fish takes each line for a completion: the second line of a help text must not be one."""
    variables = {"_TYPER_COMPLETE_ARGS": "rollwise summarize --", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    asked = environment | {"_ROLLWISE_COMPLETE": "complete_fish", "COLUMNS": "40", **variables}
    done = subprocess.run(["rollwise"], capture_output=True, text=True, env=asked, check=True)
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("--")] == []
    assert any(line.startswith("--method\t") and line.endswith("within-goals.") for line in lines)
