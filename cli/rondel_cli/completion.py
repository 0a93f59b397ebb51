"""`rondel completion`: what a shell needs to complete the command's words."""

import argparse

_BASH = """_rondel() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" options=""
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$word"))
  elif [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  fi
}}
complete -o default -F _rondel rondel
"""
# zsh runs the functions of bash.
_ZSH = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n" + _BASH


def add_to(commands):
    parser = commands.add_parser(
        "completion",
        help="print what completes commands and options in a shell",
        description="Prints a script that completes commands, options and file names in bash or zsh.",
        epilog="to use it:\n  eval \"$(rondel completion bash)\"   in ~/.bashrc\n  eval \"$(rondel completion zsh)\"    in ~/.zshrc",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=["bash", "zsh"])
    parser.set_defaults(act=lambda options: act(options, commands))


def act(options, commands):
    cases = "\n".join(f'    {name}) options="{" ".join(_options(parser))}" ;;' for name, parser in commands.choices.items())
    script = _BASH if options.shell == "bash" else _ZSH
    print(script.format(cases=cases, commands=" ".join(commands.choices)), end="")
    return 0


def _options(parser):
    return sorted(text for action in parser._actions for text in action.option_strings if text.startswith("--"))
