#!/usr/bin/env python3
"""Ratings straight from archives of replays, and what they say of a snapshot or a catalog; needs nothing but Python.

  reference_elo.py snapshot FILE BEFORE ZIP...   hold a snapshot of `catalog-sync elo --before BEFORE` to the archives
  reference_elo.py daily CATALOG ZIP...          hold the daily ratings of a catalog to them

Prints how many ratings were compared; exit 1 where one differs.
"""
import collections, hashlib, json, pathlib, sqlite3, sys, zipfile


def answer(entry):
    action = entry["action"]
    return action["action"] if isinstance(action, dict) else action


def game(name, text):
    """Id, rewards, names and decks, or nothing where one of them is not known."""
    try:
        episode = json.loads(text)
        a, b = episode["rewards"]
        names = episode["info"]["TeamNames"]
        decks = [answer(entry) for entry in episode["steps"][1]]
        stem = pathlib.PurePosixPath(name).stem
        number = int(stem) if stem.isdigit() else int(episode["info"]["EpisodeId"])
        if len(names) == 2 and all(len(deck) == 60 for deck in decks) and a - b == a - b:
            return number, (a, b), names, [sorted(deck) for deck in decks]
    except (ValueError, KeyError, TypeError, IndexError):
        pass
    return None


def games_by_day(archives):
    """Games in the order that they count in; each episode once."""
    seen, days = set(), {}
    for archive in sorted(archives, key=lambda path: path.stem):
        members = zipfile.ZipFile(archive)
        found = [game(name, members.read(name)) for name in members.namelist() if name.endswith(".json")]
        fresh = {}
        for one in filter(None, found):
            if one[0] not in seen:
                fresh.setdefault(one[0], one)
        seen |= set(fresh)
        named = [one for one in found if one]
        days[archive.stem] = [fresh[number] for number in sorted(fresh)], named
    return days


class Ratings:
    def __init__(self):
        self.elo = collections.defaultdict(lambda: 1500.0)
        self.games = collections.Counter()
        self.cards = {}

    def play(self, pair, score):
        a, b = pair
        expected = 1 / (1 + 10 ** ((self.elo[b] - self.elo[a]) / 400))
        if a != b:
            self.elo[a], self.elo[b] = self.elo[a] + 32 * (score - expected), self.elo[b] - 32 * (score - expected)
        self.games[a] += 1
        self.games[b] += 1

    def all(self):
        return {key: (self.elo[key], n, None) for key, n in self.games.items()}


def in_buckets(ratings):
    ranked = sorted((key for key, (_, n, _) in ratings.items() if n >= 5), key=lambda key: (-ratings[key][0], key))
    places = {key: place * 10 // len(ranked) for place, key in enumerate(ranked)}
    return {str(key): (elo, n, places.get(key, 10)) for key, (elo, n, _) in ratings.items()}


def hash_of(deck):
    return hashlib.sha256(",".join(map(str, deck)).encode()).hexdigest()


def after_each_day(archives):
    """Day, ratings after it, and who is named on it."""
    agents, decks, cards = Ratings(), Ratings(), {}
    for day, (games, named) in games_by_day(archives).items():
        for _, (a, b), names, pair in games:
            score = 1 if a > b else 0 if a < b else 0.5
            agents.play(names, score)
            decks.play([hash_of(deck) for deck in pair], score)
            cards.update((hash_of(deck), set(deck)) for deck in pair)
        of_card = collections.defaultdict(list)
        for deck, n in decks.games.items():
            for card in cards[deck]:
                of_card[card].append((decks.elo[deck], n))
        means = {card: (sum(e * n for e, n in held) / sum(n for _, n in held), sum(n for _, n in held), None)
                 for card, held in of_card.items()}
        on_day = ({name for one in named for name in one[2]}, {hash_of(deck) for one in named for deck in one[3]},
                  {str(card) for one in named for deck in one[3] for card in deck})
        yield day, {"agents": in_buckets(agents.all()), "decks": in_buckets(decks.all()),
                    "cards": in_buckets(means)}, on_day


def same(found, expected, what):
    if found.keys() != expected.keys():
        sys.exit(f"{what}: {sorted(found.keys() ^ expected.keys())} are in one of them only")
    for key, (elo, games, bucket) in expected.items():
        if abs(found[key][0] - elo) > 1e-8 or found[key][1:] != (games, bucket):
            sys.exit(f"{what} {key}: {found[key]} where {(elo, games, bucket)} is expected")
    return len(expected)


def snapshot(path, before, archives):
    expected = {"agents": {}, "cards": {}, "decks": {}}
    for day, ratings, _ in after_each_day(archives):
        if day < before:
            expected = ratings
    found = json.loads(pathlib.Path(path).read_text())
    if list(found) != sorted(expected):
        sys.exit(f"the snapshot holds {list(found)}")
    fields = lambda ratings: {key: (r["elo"], r["games"], r["bucket"]) for key, r in ratings.items()}
    return sum(same(fields(found[kind]), expected[kind], kind) for kind in expected)


def daily(path, archives):
    catalog, compared = sqlite3.connect(path), 0
    query = {"agents": "SELECT name, elo, games, bucket FROM agent_elo_daily JOIN agents ON id = agent_id",
             "decks": "SELECT hash, elo, games, bucket FROM deck_elo_daily JOIN decks ON id = deck_id"}
    for day, ratings, on_day in after_each_day(archives):
        for kind, named in zip(query, on_day):
            rows = catalog.execute(f"{query[kind]} WHERE day_id = (SELECT id FROM days WHERE date = ?)", [day])
            found = {key: tuple(rest) for key, *rest in rows if rest[1] > 0}
            compared += same(found, {key: r for key, r in ratings[kind].items() if key in named}, f"{day} {kind}")
        rows = catalog.execute("""SELECT card_id, elo, games, bucket FROM card_elo_daily
            WHERE day_id = (SELECT id FROM days WHERE date = ?)""", [day])
        found = {str(key): tuple(rest) for key, *rest in rows}
        expected = {key: r for key, r in ratings["cards"].items() if key in on_day[2]}
        compared += same(found, expected, f"{day} cards")
    return compared


def main():
    if sys.argv[1] == "snapshot":
        print(snapshot(sys.argv[2], sys.argv[3], [pathlib.Path(name) for name in sys.argv[4:]]))
    else:
        print(daily(sys.argv[2], [pathlib.Path(name) for name in sys.argv[3:]]))


if __name__ == "__main__":
    main()
