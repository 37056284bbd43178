#!/bin/sh
# npm's shell for servers that Switchboard starts with npx. npm puts `node_modules/.bin` of the working folder and of all
# folders above it in front of PATH, so that a workspace could replace `node`. This removes them again.
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
unset npm_config_script_shell
exec /bin/sh "$@"
