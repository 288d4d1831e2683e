#!/bin/sh
# Writes who may connect from the environment to a file that only this user can read, then becomes the pooler.
set -eu
umask 077
: "${EVERLOOM_DB_PASSWORD:?}"
case $EVERLOOM_DB_PASSWORD in *\"*) echo "the password must not contain a double quote" >&2; exit 2 ;; esac
printf '"everloom" "%s"\n' "$EVERLOOM_DB_PASSWORD" > /tmp/userlist.txt
exec pgbouncer /etc/pgbouncer/pgbouncer.ini
