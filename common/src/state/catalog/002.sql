-- Decision days: their datasets, who played whom with what, ratings day by day. Rooms for runs and their spilled files.

-- `id` is the day as days since 1970-01-01, as it stands in the column `day_id` of the files.
ALTER TABLE days ADD COLUMN competition_day INTEGER;
ALTER TABLE days ADD COLUMN source_zip TEXT;
ALTER TABLE days ADD COLUMN source_sha256 TEXT CHECK (length(source_sha256) = 64);

-- Null in the rows of folded shards, whose set says what these say.
ALTER TABLE datasets ADD COLUMN state TEXT
  CHECK ((kind = 'decisions') = (state IS NOT NULL)) CHECK (state IN ('present', 'missing', 'damaged'));
ALTER TABLE datasets ADD COLUMN manifest_path TEXT CHECK ((kind = 'decisions') = (manifest_path IS NOT NULL));
ALTER TABLE datasets ADD COLUMN manifest_size INTEGER;
ALTER TABLE datasets ADD COLUMN manifest_mtime_ns INTEGER;
ALTER TABLE datasets ADD COLUMN manifest_ctime_ns INTEGER;
ALTER TABLE datasets ADD COLUMN manifest_inode INTEGER;
ALTER TABLE datasets ADD COLUMN encoder_version TEXT;
ALTER TABLE datasets ADD COLUMN card_catalog_sha256 TEXT CHECK (length(card_catalog_sha256) = 64);
-- what the file was made from: archive, encoder, cards, ratings, effects, parameters
ALTER TABLE datasets ADD COLUMN fingerprint TEXT CHECK (length(fingerprint) = 64);
ALTER TABLE datasets ADD COLUMN aux_targets INTEGER CHECK (aux_targets IN (0, 1));
-- parameters of the build, as a JSON object
ALTER TABLE datasets ADD COLUMN build_config TEXT;
ALTER TABLE datasets ADD COLUMN synced_at INTEGER; -- seconds since 1970

-- One dataset a day: variants of a day belong into catalogs of their own.
CREATE UNIQUE INDEX datasets_day ON datasets (day_id) WHERE day_id IS NOT NULL;

CREATE TABLE agents (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- whether a recorded day counts the name as ours
  is_self INTEGER NOT NULL DEFAULT 0 CHECK (is_self IN (0, 1))
) STRICT;

CREATE TABLE decks (
  id INTEGER PRIMARY KEY,
  -- SHA-256 of the ascending card ids, in decimal, between commas
  hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
  cards INTEGER NOT NULL CHECK (cards > 0)
) STRICT;

CREATE TABLE deck_cards (
  deck_id INTEGER NOT NULL REFERENCES decks (id) ON DELETE CASCADE,
  card_id INTEGER NOT NULL,
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  PRIMARY KEY (deck_id, card_id)
) STRICT, WITHOUT ROWID;

-- One row a member of an archive; within a day, ids ascend in the archive's order.
CREATE TABLE episodes (
  id INTEGER PRIMARY KEY,
  episode_id INTEGER,
  day_id INTEGER NOT NULL REFERENCES days (id) ON DELETE CASCADE,
  dataset_id INTEGER NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
  archive_member TEXT NOT NULL,
  -- 'duplicate' with rows: a file of another day holds the episode too, and is the one to read it from
  status TEXT NOT NULL CHECK (status IN
    ('used', 'draw', 'no_reward', 'malformed', 'illegal_label', 'timeout', 'duplicate', 'no_rows')),
  why TEXT,
  steps INTEGER NOT NULL CHECK (steps >= 0),
  reward0 REAL,
  reward1 REAL,
  agent0_id INTEGER REFERENCES agents (id),
  agent1_id INTEGER REFERENCES agents (id),
  deck0_id INTEGER REFERENCES decks (id),
  deck1_id INTEGER REFERENCES decks (id),
  rows0 INTEGER NOT NULL CHECK (rows0 >= 0),
  rows1 INTEGER NOT NULL CHECK (rows1 >= 0),
  -- where its rows stand in the file; null where it has none
  first_row INTEGER CHECK (first_row >= 0),
  row_group_first INTEGER CHECK (row_group_first >= 0),
  row_group_last INTEGER CHECK (row_group_last >= row_group_first),
  CHECK ((rows0 + rows1 > 0) = (first_row IS NOT NULL)),
  CHECK ((first_row IS NULL) = (row_group_first IS NULL) AND (first_row IS NULL) = (row_group_last IS NULL)),
  CHECK (first_row IS NULL OR episode_id IS NOT NULL),
  CHECK (CASE WHEN first_row IS NULL THEN status <> 'used' ELSE status IN ('used', 'duplicate') END),
  UNIQUE (day_id, archive_member)
) STRICT;

CREATE UNIQUE INDEX episodes_used ON episodes (episode_id) WHERE status = 'used';
-- selections
CREATE INDEX episodes_of_day ON episodes (day_id, status, episode_id);
-- the same episode on other days
CREATE INDEX episodes_of_id ON episodes (episode_id, day_id);
CREATE INDEX episodes_of_dataset ON episodes (dataset_id);
CREATE INDEX episodes_of_agent0 ON episodes (agent0_id);
CREATE INDEX episodes_of_agent1 ON episodes (agent1_id);
CREATE INDEX episodes_of_deck0 ON episodes (deck0_id);
CREATE INDEX episodes_of_deck1 ON episodes (deck1_id);

-- Ratings after the day's games, of who is named in an episode of the day. Counts are of all games so far.
CREATE TABLE agent_elo_daily (
  agent_id INTEGER NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  day_id INTEGER NOT NULL REFERENCES days (id) ON DELETE CASCADE,
  elo REAL NOT NULL,
  games INTEGER NOT NULL CHECK (games = wins + losses + draws),
  wins INTEGER NOT NULL CHECK (wins >= 0),
  losses INTEGER NOT NULL CHECK (losses >= 0),
  draws INTEGER NOT NULL CHECK (draws >= 0),
  -- decile among all agents so far, 0 the strongest; 10 under five games
  bucket INTEGER NOT NULL CHECK (bucket BETWEEN 0 AND 10),
  -- place among the agents of the day, from 1; ties by name
  place INTEGER NOT NULL CHECK (place > 0),
  PRIMARY KEY (agent_id, day_id),
  UNIQUE (day_id, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE deck_elo_daily (
  deck_id INTEGER NOT NULL REFERENCES decks (id) ON DELETE CASCADE,
  day_id INTEGER NOT NULL REFERENCES days (id) ON DELETE CASCADE,
  elo REAL NOT NULL,
  games INTEGER NOT NULL CHECK (games = wins + losses + draws),
  wins INTEGER NOT NULL CHECK (wins >= 0),
  losses INTEGER NOT NULL CHECK (losses >= 0),
  draws INTEGER NOT NULL CHECK (draws >= 0),
  bucket INTEGER NOT NULL CHECK (bucket BETWEEN 0 AND 10),
  PRIMARY KEY (deck_id, day_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX deck_elo_of_day ON deck_elo_daily (day_id);

-- Cards of the decks of the day; `games` are those of all decks that hold the card.
CREATE TABLE card_elo_daily (
  card_id INTEGER NOT NULL,
  day_id INTEGER NOT NULL REFERENCES days (id) ON DELETE CASCADE,
  elo REAL NOT NULL,
  games INTEGER NOT NULL CHECK (games > 0),
  bucket INTEGER NOT NULL CHECK (bucket BETWEEN 0 AND 10),
  PRIMARY KEY (card_id, day_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX card_elo_of_day ON card_elo_daily (day_id);

-- Runs of a trainer, and the folders that each may spill to.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  run_dir TEXT NOT NULL UNIQUE,
  -- its configuration, as a JSON object
  config TEXT NOT NULL,
  pid INTEGER,
  started_at INTEGER NOT NULL, -- seconds since 1970
  ended_at INTEGER CHECK (ended_at >= started_at),
  exit_code INTEGER
) STRICT;

CREATE TABLE spill_dirs (
  path TEXT PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
  purged_at INTEGER -- seconds since 1970
) STRICT, WITHOUT ROWID;

CREATE INDEX spill_dirs_of_run ON spill_dirs (run_id);
