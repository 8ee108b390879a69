"""Print the pages that the search of a built site lists first.

    python3 docs/site/search_results.py SITE QUERY...

Each line is the JSON list of the first pages for a query, best first. Queries are words without
hyphens and operators. Wildcards and scores are those of Material for MkDocs, which runs Lunr in the
browser (``integrations/search`` in its sources).
"""

import json
import re
import sys
from pathlib import Path
from typing import Dict, List

from lunr.builder import Builder
from lunr.stop_word_filter import stop_word_filter

LISTED = 10


class Search:
    """The search of a built site."""

    def __init__(self, site: Path) -> None:
        text = (site / "search" / "search_index.js").read_text("utf-8")
        data = json.loads(text[text.index("{") : text.rindex("}") + 1])
        self._separator = data["config"]["separator"]
        builder = Builder()
        builder.b(0)
        builder.ref("location")
        for name in ("title", "text"):
            builder.field(name, boost=data["config"]["fields"][name]["boost"])
        builder.pipeline.add(stop_word_filter)
        for entry in data["docs"]:
            fields = {name: self._words(entry[name]) for name in ("title", "text")}
            builder.add({"location": entry["location"], **fields}, {"boost": entry.get("boost", 1)})
        self._index = builder.build()

    def _words(self, html: str) -> List[str]:
        text = re.sub(r"<[^>]*>", "\n", html).lower()
        return [word for word in re.split(self._separator, text) if word]

    def pages(self, query: str) -> List[str]:
        """Return the pages for a query, best first."""
        words = self._words(query)
        scores: Dict[str, float] = {}
        for result in self._index.search(" ".join(f"{word}*" for word in words)):
            page, _, section = result["ref"].partition("#")
            terms = result["match_data"].metadata
            matched = [any(term.startswith(word) for term in terms) for word in words]
            counted = [one for one, word in zip(matched, words) if one or stop_word_filter(word)]
            boost = (not section) + sum(counted) / len(counted)
            scores[page] = max(scores.get(page, 0.0), result["score"] * (1 + boost**2))
        return sorted(scores, key=scores.__getitem__, reverse=True)


def main(site: str, *queries: str) -> None:
    """Print the first pages for each query."""
    search = Search(Path(site))
    for query in queries:
        print(json.dumps(search.pages(query)[:LISTED]))


if __name__ == "__main__":
    main(*sys.argv[1:])
