#!/bin/sh
# Usage: bare_header.sh HEADER COPY
# Copies a header without the comments that have lines of their own. A copy that would be equal is
# left as it is, so that nothing is compiled again for it.
set -eu
sed -e '/^ *\/\*.*\*\//{' -e '/\*\/$/d' -e b -e '}' \
  -e '/^ *\/\*/,/\*\/$/d' -e '/^ *\/\//d' "$1" > "$2.new"
if cmp -s "$2.new" "$2"; then
  rm "$2.new"
else
  mv "$2.new" "$2"
fi
