-- Datasets, and the sets that folded shards belong to. `days` has room for decision days.

CREATE TABLE days (
  id INTEGER PRIMARY KEY,
  date TEXT NOT NULL UNIQUE CHECK (date GLOB '[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]')
) STRICT;

-- One row a `<prefix>.set.json`; stat columns are those of that file.
CREATE TABLE sets (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('present', 'missing', 'damaged')),
  rows INTEGER NOT NULL CHECK (rows >= 0),
  records INTEGER NOT NULL CHECK (records >= rows),
  shards INTEGER NOT NULL CHECK (shards >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  -- the pairs of every footer, as a JSON object
  conventions TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  synced_at INTEGER NOT NULL -- seconds since 1970
) STRICT;

-- One row a Parquet file.
CREATE TABLE datasets (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('folded', 'decisions')),
  path TEXT NOT NULL UNIQUE,
  schema_version INTEGER NOT NULL,
  rows INTEGER NOT NULL CHECK (rows >= 0),
  row_groups INTEGER NOT NULL CHECK (row_groups >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  set_id INTEGER REFERENCES sets (id) ON DELETE CASCADE,
  -- place in its set
  ordinal INTEGER,
  day_id INTEGER REFERENCES days (id) ON DELETE CASCADE,
  mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  CHECK ((kind = 'folded') = (set_id IS NOT NULL AND ordinal IS NOT NULL)),
  CHECK ((kind = 'decisions') = (day_id IS NOT NULL)),
  UNIQUE (set_id, ordinal),
  UNIQUE (day_id, schema_version)
) STRICT;
