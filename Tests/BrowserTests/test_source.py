"""The form of the console's source: files of at most 700 lines, no import circle, no name twice in what is served as one."""
import pathlib
import re

PUBLIC = pathlib.Path(__file__).parents[2] / "Public"
LINES, COLUMNS = 700, 120
IMPORTED = re.compile(r"""(?:from |import\()["`](\.[^"`$]+\.js)["`]""")
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (?:\{([^}]*)\}|(\w+))", re.MULTILINE)


def sources(*endings):
    return [path for path in sorted(PUBLIC.rglob("*")) if path.suffix in endings]


def imports():
    """The modules that each module imports, at once or when it runs."""
    return {path: {(path.parent / name).resolve() for name in IMPORTED.findall(path.read_text())} for path in sources(".js")}


def parts(index):
    """The files that the server sends inside of an index; see JoinedFiles.swift."""
    return [index.parent / name for name in re.findall(rf'^export \* from "\./({index.stem}/[^"]+)"$', index.read_text(), re.MULTILINE)]


def test_each_file_is_short_and_narrow(console):
    wrong = []
    # A catalogue is one file a language, and a line holds a sentence.
    for path in (one for one in sources(".js", ".css") if one.parent.name != "lang"):
        lines = path.read_text().splitlines()
        if len(lines) > LINES:
            wrong.append(f"{path}: {len(lines)} lines")
        wrong += [f"{path}:{number}: {len(line.expandtabs(4))} columns" for number, line in enumerate(lines, 1)
                  if len(line.expandtabs(4)) > COLUMNS]
    assert not wrong, "\n".join(wrong)


def test_no_module_imports_itself_by_way_of_others(console):
    graph, done = imports(), set()

    def visit(path, way):
        assert path not in way, " → ".join(one.name for one in [*way[way.index(path):], path])
        assert path in graph, f"{way[-1]} imports {path}, which is not there"
        if path not in done:
            for one in graph[path]:
                visit(one, [*way, path])
            done.add(path)

    for path in graph:
        visit(path, [])


def test_a_part_is_imported_by_its_index_and_its_siblings_alone(console):
    for path, wanted in imports().items():
        for one in wanted:
            index = one.parent.with_suffix(".js")
            if index.exists() and one in parts(index):
                assert path == index or path.parent == one.parent, f"{path} imports {one} beside its index"


def test_no_name_is_declared_twice_in_what_is_served_as_one(console):
    for index in sources(".js"):
        names = {}
        for path in [*parts(index), index] if parts(index) else []:
            for several, one in DECLARED.findall(path.read_text()):
                for name in several.split(",") if several else [one]:
                    assert name not in names, f"{path} and {names[name]} declare {name}"
                    names[name] = path
