#!/usr/bin/env python3
"""Writes the files of a package that follow from the program and its sources:

    packaging/documents.py --program build/release/cli/tickstack --output build/release/packaging

    tickstack.1.gz       manual page: `--help` of each command
    tickstack.toml.5.gz  manual page: examples/stack.toml, which has each key with its default
    tickstack.bash, _tickstack   completions for bash and zsh: commands and flags, from `--help`
    licences.gz          licences of the libraries that the program contains or is linked with
    CHANGELOG.md.gz      what users notice
    changelog.gz         an entry as Debian wants it, for the version of this package
"""

import argparse
import email.utils
import gzip
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Packages of packaging/debian-packages.txt that only tests and builds use.
NOT_LINKED = {"libgtest-dev", "libgmock-dev", "libbenchmark-dev"}


class Command:
    """A command as its --help describes it."""

    def __init__(self, program, words):
        self.words = words
        self.help = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout.rstrip()
        self.sections = dict(sections(self.help))
        self.subcommands = [Command(program, [*words, name]) for name, _ in self.sections.get("Subcommands", [])]

    def name(self):
        return " ".join(self.words)

    def all(self):
        yield self
        for command in self.subcommands:
            yield from command.all()

    def completions(self):
        flags = (re.findall(r"--[a-z][\w-]*", entry.partition(" ")[0]) for entry, _ in self.sections["Options"])
        return " ".join([command.words[-1] for command in self.subcommands] + [flag for found in flags for flag in found])


def sections(text):
    """The parts of a --help: heading, entries of name and description. What precedes the first is under ""."""
    heading, entries = "", []
    for line in text.splitlines():
        entry = re.match(r"  (\S.*?)(?:  +(\S.*))?$", line)
        if line.endswith(":") and not line.startswith(" "):
            yield heading, entries
            heading, entries = line[:-1], []
        elif line.startswith(" " * 10) and entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}".strip())
        elif entry and heading:
            entries.append((entry[1], entry[2] or ""))
        elif line:
            entries.append((line, ""))
    yield heading, entries


def roff(text):
    """Text as troff prints it as it is."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").splitlines()
    return "\n".join("\\&" + line if line.startswith((".", "\\(aq")) else line for line in lines)


def title(name, section, version, summary):
    return f'.TH {name.upper()} {section} "" "tickstack {roff(version)}" ""\n.SH NAME\n{roff(name)} \\- {roff(summary)}\n'


def command_help(command):
    page = "\n.br\n".join(roff(line) for line, _ in command.sections[""]) + "\n"
    for heading, entries in command.sections.items():
        if heading and entries:
            page += f".PP\n{roff(heading)}:\n"
            page += "".join(f".TP\n.B {roff(name)}\n{roff(description)}\n" for name, description in entries)
    return page


def main_page(top, version):
    page = title("tickstack", 1, version, "market data capture stack, compatible with kdb+tick")
    page += ".SH SYNOPSIS\n.B tickstack\n.I COMMAND\n[\n.I OPTIONS\n]\n.SH DESCRIPTION\n" + command_help(top)
    page += ".SH COMMANDS\n"
    for command in top.all():
        if command is not top:
            page += f".SS {roff('tickstack ' + command.name())}\n{command_help(command)}"
    page += (".SH EXIT STATUS\n0: done. 1: failed. 2: wrong usage or configuration.\n"
             ".SH FILES\n.TP\n.I /etc/tickstack/stack.toml\nThe configuration of tickstack.service.\n"
             ".TP\n.I /var/lib/tickstack\nIts data: logs in tplog, past days in hdb, log lines in logs.\n"
             ".TP\n.I /usr/share/doc/tickstack/docs\nThe documentation: begin with README.md there.\n"
             ".SH SEE ALSO\n.BR tickstack.toml (5),\n.BR systemctl (1)\n")
    return page


def configuration_page(text, version):
    page = title("tickstack.toml", 5, version, "configuration of a tickstack stack")
    page += (".SH DESCRIPTION\nA file in TOML that describes the processes of a stack, for\n.B tickstack up\nand for\n"
             ".B \\-\\-config\nof a single process.\n.SH KEYS\n")
    return page + f".nf\n{roff(text)}\n.fi\n.SH SEE ALSO\n.BR tickstack (1)\n"


# Both completions find the command in the words before the cursor, and offer its commands and flags, or files.
BASH = """# Completion of tickstack's commands and flags for bash. Written by packaging/documents.py.
_tickstack() {
  local word path="" words="" current=${COMP_WORDS[COMP_CWORD]} commands="@COMMANDS@"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ ,$commands, == *",${path:+$path }$word,"* ]] && path=${path:+$path }$word
  done
  case $path in
@CASES@  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ -n $path && $current != -* ]] && COMPREPLY+=($(compgen -f -- "$current"))
  return 0
}
complete -o filenames -F _tickstack tickstack
"""
ZSH = """#compdef tickstack
# Completion of tickstack's commands and flags for zsh. Written by packaging/documents.py.
local word cmd="" offered="" commands="@COMMANDS@"
for word in ${words[2,CURRENT-1]}; do
  [[ ",$commands," == *",${cmd:+$cmd }$word,"* ]] && cmd=${cmd:+$cmd }$word
done
case $cmd in
@CASES@esac
compadd -- ${=offered}
[[ -n $cmd ]] && _files
"""


def completion(template, variable, top):
    cases = "".join(f'    "{command.name()}") {variable}="{command.completions()}" ;;\n' for command in top.all())
    commands = ",".join(command.name() for command in top.all() if command.words)
    return template.replace("@COMMANDS@", commands).replace("@CASES@", cases)


def licences():
    text = ("The program contains code of these libraries or is linked with them. Each part is the file `copyright` of\n"
            "the Debian package that was built with.\n")
    listed = (ROOT / "packaging/debian-packages.txt").read_text(encoding="utf-8")
    for package in re.findall(r"^([\w.+-]+-dev)\b", listed, re.M):
        if package not in NOT_LINKED:
            # A development package may share the folder of its library: a link.
            copyright_file = pathlib.Path("/usr/share/doc", package, "copyright")
            text += f"\n{'=' * 100}\n{package}\n\n{copyright_file.read_text(encoding='utf-8')}"
    uplot = (ROOT / "third_party/uplot/LICENSE").read_text(encoding="utf-8")
    return text + f"\n{'=' * 100}\nuPlot, in the pages of reports\n\n{uplot}"


def debian_changelog(version):
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    date = email.utils.formatdate(float(seconds) if seconds else None)
    return (f"tickstack ({version.replace('-', '~')}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n"
            f" -- tickstack maintainers <maintainers@tickstack.example>  {date.replace('-0000', '+0000')}\n")


def main():
    parser = argparse.ArgumentParser(description="Writes the files of a package that follow from the program.")
    parser.add_argument("--program", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    os.environ["COLUMNS"] = "80"
    program = str(pathlib.Path(arguments.program).resolve())
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    top = Command(program, [])
    example = (ROOT / "examples/stack.toml").read_text(encoding="utf-8")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, text in (("tickstack.1", main_page(top, version)),
                       ("tickstack.toml.5", configuration_page(example, version)),
                       ("licences", licences()),
                       ("changelog", debian_changelog(version)),
                       ("CHANGELOG.md", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))):
        # Without a time, the same sources give the same bytes.
        with gzip.GzipFile(arguments.output / f"{name}.gz", "wb", 9, mtime=0) as file:
            file.write(text.encode())
    for name, text in (("tickstack.bash", completion(BASH, "words", top)), ("_tickstack", completion(ZSH, "offered", top))):
        (arguments.output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
