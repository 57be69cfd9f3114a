"""Each sentence of the console's source has its entry in each language's catalogue, and each entry its sentence."""
import json
import pathlib
import re

PUBLIC = pathlib.Path(__file__).parents[2] / "Public"
# Texts in double quotes, where several are joined by +; and the sentences of t.
QUOTED = r'"(?:[^"\\\n]|\\.)*"'
JOINED = re.compile(rf"{QUOTED}(?:\s*\+\s*{QUOTED})*")
SENTENCE = re.compile(r"\bt`")
# What looks like a sentence and is code, a selector, a header, or the name of a key.
NO_WORDS = re.compile(r"[A-Z0-9_]+|(?!.* .* .* ).*[\[\]=>#].*|\.[a-z].*|[A-Z]\w+Error|  -H .*|[a-z]+(, [a-z]+)+|Authorization: .*"
                      "|input, select, .*|Gatehouse|Tab|Escape|Enter|East|Ctrl K|⌘ K|J, K|Shift N")


def catalogue(language):
    """A language's entries, as a list: an entry that is there twice is there twice."""
    body = (PUBLIC / f"lang/{language}.js").read_text().split("export default ")[1]
    body = re.sub(r"{ one: (\".*?\"), other: (\".*?\") }", r'{"one": \1, "other": \2}', body)
    return json.loads(re.sub(r",\s*}\s*$", "}", body), object_pairs_hook=list)


def sentence_at(source, start):
    """The sentence of the template that begins at `start`, with {} for each value."""
    text, depth, at = "", 0, start
    while depth or source[at] != "`":
        if not depth and source.startswith("${", at):
            text, depth, at = text + "{}", 1, at + 2
            continue
        if depth:
            depth += {"{": 1, "}": -1}.get(source[at], 0)
        else:
            text += source[at]
        at += 1
    return text


def shown(path):
    """What a source file shows, as far as its form tells: sentences of t, and texts that begin as sentences do."""
    source = "\n".join(line for line in path.read_text().splitlines() if not re.match(r"\s*(//|/?\*|import |export \*|} from )", line))
    found = {sentence_at(source, one.end()) for one in SENTENCE.finditer(source)}
    for one in JOINED.findall(source):
        text = "".join(re.sub(r"\\(.)", r"\1", part[1:-1]) for part in re.findall(QUOTED, one))
        if re.match(r"[A-Z“]", text) and not NO_WORDS.fullmatch(text):
            found.add(text)
    return {text for text in found if re.search(r"[A-Za-z]", text.replace("{}", ""))}


def test_each_sentence_of_the_source_has_its_german(console):
    words = dict(catalogue("de"))
    missing = {f"{path.relative_to(PUBLIC)}: {text}" for path in PUBLIC.rglob("*.js")
               if "lang" not in path.parts and path.name != "boot.js" for text in shown(path) if text not in words}
    assert not missing, "\n".join(sorted(missing))


def test_no_entry_of_the_catalogue_is_duplicate_or_unused(console):
    entries = [text for text, _ in catalogue("de")]
    twice = {text for text in entries if entries.count(text) > 1}
    assert not twice, twice
    source = "\n".join(path.read_text() for path in PUBLIC.rglob("*.js") if "lang" not in path.parts)
    source = re.sub(r'"\s*\+\s*"', "", source)
    gone = [text for text in entries if re.search(r"\w.* .*[.?:…] ?$", text) and "{" not in text and text not in source.replace('\\"', '"')]
    assert not gone, gone


def test_each_translation_holds_the_values_of_its_sentence(console):
    wrong = []
    for text, said in catalogue("de"):
        values = text.count("{}")
        for one in dict(said).values() if isinstance(said, list) else [said]:
            plain, numbered = one.count("{}"), {int(number) for number in re.findall(r"{(\d)}", one)}
            if not (plain == values and not numbered or plain == 0 and numbered == set(range(1, values + 1))):
                wrong.append(f"{text} → {one}")
    assert not wrong, "\n".join(wrong)


def test_each_action_of_the_audit_log_and_each_code_of_an_answer_has_its_german(console):
    words = dict(catalogue("de"))
    sources = PUBLIC.parent / "Sources/Product"
    actions = re.findall(r'"([a-z_]+\.[a-z_]+)"', (sources / "Domain/Audit/AuditAction.swift").read_text())
    # As actionWords spells them.
    spelled = [re.sub(r"^cors_", "", re.sub(r"^api_key", "API key", one)).replace(".", " ").replace("_", " ") for one in actions]
    missing = [one for one in spelled if one[0].upper() + one[1:] not in words]
    codes = re.findall(r'Code\("(\w+)"', (sources / "API/Responses/Code.swift").read_text())
    verdict = (sources / "Domain/Provisioning/Verdict.swift").read_text()
    codes += re.findall(r'case \w+ = "(\w+)"', re.search(r"enum Reason.*?\n}", verdict, re.S)[0])
    missing += [one for one in codes if not {f"code {one}", f"field {one}", one.replace("_", " ").capitalize()} & set(words)]
    assert actions and codes and not missing, missing


def test_the_audit_log_offers_each_action_that_is_written(console):
    written = re.findall(r'"([a-z_]+\.[a-z_]+)"', (PUBLIC.parent / "Sources/Product/Domain/Audit/AuditAction.swift").read_text())
    page = console.go("/console/audit")
    offered = page.get_by_label("Action", exact=True).locator("option").evaluate_all("all => all.map(one => one.value)")
    assert sorted(one for one in offered if one and not one.endswith(".")) == sorted(written)
