"""The changelog of the API names each part that differs from the last version."""
import copy
import json
import pathlib
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy/lib"))
import api  # noqa: E402


def test_each_change_of_the_api_is_in_its_changelog(console):
    document = json.load(urllib.request.urlopen(f"{console.base}/openapi.json"))
    last, now = json.loads(api.LAST.read_text()), api.units(document)
    changes = api.CHANGES.read_text()
    assert api.unnamed(last, now, changes) == [], "deploy/docs/api-changes.md: name them in the newest chapter"
    # One that is changed and not named is found; a text is no change.
    other = copy.deepcopy(document)
    other["components"]["schemas"]["Tenant"]["properties"]["slug"]["maxLength"] = 7
    other["components"]["schemas"]["User"]["properties"]["name"]["description"] = "Another text."
    assert api.unnamed(last, api.units(other), "\n## 9.9\n") == api.unnamed(last, now, "\n## 9.9\n") + ["Tenant"]
    assert api.unnamed(now, api.units(other), "\n## 9.9\n\n`Tenant`: shorter.\n\n## 9.8\n") == []
    assert api.unnamed(now, api.units(other), "\n## 9.9\n\n## 9.8\n\n`Tenant`: shorter.\n") == ["Tenant"]
