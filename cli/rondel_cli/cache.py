"""`rondel cache`: the folder of compiled code."""

from rondel import code_cache
from rondel.texts import human_bytes


def add_to(commands):
    parser = commands.add_parser(
        "cache",
        help="show or clear the folder of compiled code",
        description="Shows the folder in which compiled code is kept for later processes, or clears it.",
        epilog="the folder is RONDEL_CACHE_DIR, else rondel in XDG_CACHE_HOME or in ~/.cache; RONDEL_CACHE_DIR=off keeps nothing",
    )
    parser.add_argument("--clear", action="store_true", help="remove all entries")
    parser.set_defaults(act=act)


def act(options):
    if options.clear:
        removed = code_cache.clear()
        print(f"removed {removed.entries} {'entry' if removed.entries == 1 else 'entries'} ({human_bytes(removed.bytes)})")
        return 0
    info = code_cache.info()
    print(f"folder   {info.folder or 'none'}")
    print(f"entries  {info.entries}")
    print(f"size     {human_bytes(info.bytes)} of at most {human_bytes(info.most_bytes)}")
    if info.off:
        print(f"off      {info.off}")
    return 0
