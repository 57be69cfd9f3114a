"""The statements that our roles prepare, read from PostgreSQL's log at debug2 with the prefix `%u|%d|`."""
import re

OURS = {"gatehouse_app", "gatehouse_platform"}
ENTRY = re.compile(r"^(\w*)\|[\w-]*\|(\w+):  (.*)$")
PARSED = re.compile(r"^parse (<unnamed>|\S+): (.*)$", re.S)


def statements(log):
    """(role, text) of each statement that was parsed."""
    found, role, text = set(), None, None
    with open(log, errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            entry = ENTRY.match(line)
            if not entry:
                if text is not None:
                    text += "\n" + line.lstrip("\t")
                continue
            if text is not None:
                found.add((role, text))
                text = None
            parsed = PARSED.match(entry[3]) if entry[1] in OURS else None
            if parsed:
                role, text = entry[1], parsed[2]
    if text is not None:
        found.add((role, text))
    return sorted(found)
