"""The table in docs/deepx.md equals the table of instructions in the code."""

from pathlib import Path

from rondel import deepx

PAGE = Path(__file__).resolve().parents[3] / "docs" / "deepx.md"


def rows():
    def cell(text):
        return text.replace("|", "\\|")

    for row in deepx.instructions():
        backward = f"`{row.backward}`" if row.backward else ""
        also = ", ".join(f"`{s}`" for s in row.spellings)
        yield f"| `{row.usage}` | {cell(row.doc)} | {row.dtypes} | {backward} | {also} |"


def test_the_table_of_instructions():
    page = PAGE.read_text()
    head = "|---|---|---|---|---|\n"
    shown = page[page.index(head) + len(head) : page.index("\n<!-- end of the table -->")]
    expected = "\n".join(rows()) + "\n"
    assert shown == expected, f"write this table into {PAGE.name}:\n{expected}"


def test_every_instruction_has_its_help():
    for row in deepx.instructions():
        assert row.usage in deepx.help(row.name)
        for other in row.spellings:
            assert deepx.help(other) == deepx.help(row.name)
