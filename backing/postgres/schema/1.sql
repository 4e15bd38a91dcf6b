-- What lies in the store. Names are bytes: they need not be UTF-8, and their
-- order is that of their bytes under every locale. The top directory has the
-- empty name in the empty directory.
CREATE TABLE ctxfs_objects (
  dir    bytea   NOT NULL,
  name   bytea   NOT NULL,
  is_dir boolean NOT NULL,
  size   bigint  NOT NULL,
  mtime  bigint  NOT NULL, -- nanoseconds since 1970
  mode   integer NOT NULL,
  uid    bigint  NOT NULL,
  gid    bigint  NOT NULL,
  rev    uuid    NOT NULL,
  body   uuid    NOT NULL, -- whose chunks are the content
  op     text    NOT NULL,
  PRIMARY KEY (dir, name)
);

-- Overwritten contents. A body belongs to one object or to one version.
CREATE TABLE ctxfs_versions (
  dir   bytea   NOT NULL,
  name  bytea   NOT NULL,
  n     integer NOT NULL,
  size  bigint  NOT NULL,
  mtime bigint  NOT NULL,
  mode  integer NOT NULL,
  uid   bigint  NOT NULL,
  gid   bigint  NOT NULL,
  rev   uuid    NOT NULL,
  body  uuid    NOT NULL,
  PRIMARY KEY (dir, name, n)
);

-- The bytes of a body from off on. A body only ever grows, at its end.
CREATE TABLE ctxfs_chunks (
  body uuid   NOT NULL,
  off  bigint NOT NULL,
  data bytea  NOT NULL,
  PRIMARY KEY (body, off)
);

-- Large bodies that nothing in the store has: not published yet, or replaced
-- and perhaps still read. Whoever needs one puts its end off.
CREATE TABLE ctxfs_loose (
  body  uuid        PRIMARY KEY,
  until timestamptz NOT NULL
);

-- One row for each write: what the watchers read, and what tells a write whose
-- connection broke whether it happened. A fence is the answer "no, and never".
CREATE TABLE ctxfs_changes (
  write uuid        PRIMARY KEY,
  xid   bigint      NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
  dir   bytea       NOT NULL,
  name  bytea       NOT NULL,
  fence boolean     NOT NULL DEFAULT false,
  at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ctxfs_changes_xid ON ctxfs_changes (xid);

-- Changes of transactions up to this one have been removed.
CREATE TABLE ctxfs_trimmed (xid bigint NOT NULL);
INSERT INTO ctxfs_trimmed VALUES (0);
