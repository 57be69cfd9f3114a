"""The form of a mutant, and the lists of them.

A mutant is one mend taken out, and the test that must notice. In Swift the new text holds the word MUTATED, an
expression that is true while this mutant is switched on: so every mutant is in one build. Any other file is edited
while its mutant's test runs.
"""

import importlib
import pathlib
import re
import sys
from dataclasses import dataclass, replace

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = sorted(path.stem for path in pathlib.Path(__file__).parent.glob("list_*.py"))


@dataclass(frozen=True)
class Edit:
    """One place of a file: `old` must be there exactly once."""

    path: str
    old: str
    new: str

    @property
    def is_compiled(self):
        return self.path.endswith(".swift")


@dataclass(frozen=True)
class Mutant:
    """`finding` is what it was reported as, `name` what the mutant breaks, `test` is `Suite/function`, or
    `browser:part of a name`."""

    finding: str
    name: str
    test: str
    edits: tuple
    list: str = ""

    @property
    def key(self):
        return re.sub(r"[^a-z0-9]+", "-", f"{self.finding} {self.name}".lower()).strip("-")


def mutant(finding, name, test, *edits):
    return Mutant(finding, name, test, tuple(Edit(*edit) for edit in edits))


def mutants():
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    found = [replace(one, list=name.removeprefix("list_"))
             for name in LISTS for one in importlib.import_module(name).MUTANTS]
    keys = [one.key for one in found]
    for key in keys:
        if keys.count(key) > 1:
            raise SystemExit(f"{key}: two mutants of one name")
    return found


def put(text, edit, key):
    """The text with one edit made; a SystemExit names what does not fit."""
    count = text.count(edit.old)
    if count != 1:
        raise SystemExit(f"{key}: {edit.path}: the old text is there {count} times:\n{edit.old}")
    if edit.is_compiled and "MUTATED" not in edit.new:
        raise SystemExit(f"{key}: {edit.path}: no MUTATED in the new text")
    return text.replace(edit.old, edit.new.replace("MUTATED", f'isMutated("{key}")'))


def compiled(root):
    """The Swift files with every mutant in them, by path."""
    texts = {}
    for one in mutants():
        for edit in one.edits:
            if edit.is_compiled:
                text = texts.get(edit.path) or (root / edit.path).read_text()
                texts[edit.path] = put(text, edit, one.key)
            else:
                put((root / edit.path).read_text(), edit, one.key)
    return texts


if __name__ == "__main__":
    print(f"{len(mutants())} mutants in {len(compiled(ROOT))} Swift files: every old text is there once")
