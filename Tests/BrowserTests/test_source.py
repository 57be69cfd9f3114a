"""The form of the console's source: files of at most 700 lines, and no circle of imports."""
import pathlib
import re

PUBLIC = pathlib.Path(__file__).parents[2] / "Public"
LINES, COLUMNS = 700, 120
IMPORTED = re.compile(r"""(?:from |import\()["`](\.[^"`$]+\.js)["`]""")


def sources(*endings):
    return [path for path in sorted(PUBLIC.rglob("*")) if path.suffix in endings]


def imports():
    """The modules that each module imports, at once or when it runs."""
    return {path: {(path.parent / name).resolve() for name in IMPORTED.findall(path.read_text())} for path in sources(".js")}


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
