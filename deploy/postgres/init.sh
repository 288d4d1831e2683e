#!/bin/sh
# Run once by the image of PostgreSQL, in an empty data directory: roles, the database and its extension.
# `everloom` is an ordinary role, for which row-level security holds. `everloom_dump` sees all rows, only reads, and is
# for pg_dump: https://www.postgresql.org/docs/current/ddl-rowsecurity.html
set -eu
: "${EVERLOOM_DB_PASSWORD:?}" "${EVERLOOM_DUMP_PASSWORD:?}"
psql --set=ON_ERROR_STOP=1 --set=own="$EVERLOOM_DB_PASSWORD" --set=dump="$EVERLOOM_DUMP_PASSWORD" \
    --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE everloom LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD :'own';
CREATE ROLE everloom_dump LOGIN NOSUPERUSER BYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD :'dump';
GRANT pg_read_all_data TO everloom_dump;
CREATE DATABASE everloom OWNER everloom;
\connect everloom
CREATE EXTENSION vector;
SQL
