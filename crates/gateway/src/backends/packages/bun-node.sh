#!/bin/sh
# `node` for servers that Switchboard starts with bunx. Bun prefers the packages of its working folder, so Switchboard
# starts it in an empty one. This gives the server its own working folder, and the real node.
here=$(pwd -P)/
clean=
rest=$PATH:
while [ -n "$rest" ]; do
  entry=${rest%%:*}
  rest=${rest#*:}
  folder=${entry%/node_modules/.bin}
  if [ "$folder" != "$entry" ]; then
    case $here in "$folder"/*) continue ;; esac
  fi
  clean=$clean:$entry
done
PATH=${clean#:}
export PATH
cd "$SWITCHBOARD_WORKING_FOLDER" || exit 1
unset SWITCHBOARD_WORKING_FOLDER
if command -v node >/dev/null; then
  exec node "$@"
fi
exec bun "$@"
