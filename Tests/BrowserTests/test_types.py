"""The types of the API's answers, by which deploy/checks/linters checks the console."""
import json
import pathlib
import sys
import urllib.request

TYPES = pathlib.Path(__file__).parents[2] / "deploy/lib/console"
sys.path.insert(0, str(TYPES))
import answers  # noqa: E402


def test_the_types_of_answers_are_those_of_the_description(console):
    described = answers.types(json.load(urllib.request.urlopen(f"{console.base}/openapi.json")))
    assert (TYPES / "answers.d.ts").read_text() == described, (
        "write it anew: deploy/lib/console/answers.py http://localhost:8080/openapi.json"
        " > deploy/lib/console/answers.d.ts")
