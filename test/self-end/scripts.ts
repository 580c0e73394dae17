import fc from 'fast-check';

/** Parts of scripts that a line in front of them might disturb. */
const PARTS = [
  'echo one',
  'false',
  'exit 3',
  'set -e',
  'set -u',
  'set -eu',
  'set -x',
  'set -m',
  'set -C',
  'echo "$?"',
  'echo "last: $!"',
  '(exit 5)',
  'wait; echo "waited $?"',
  'wait "$!"; echo "waited for $?"',
  '(exit 4) & wait $!; echo $?',
  'jobs',
  'read -r line; echo "read $line"',
  'cat',
  "cat <<'X'\n$HOME is `here`\nX",
  'cat <<X\nvalue $((1 + 2))\nX',
  'cat <<-X\n\ttabs\n\tX',
  'f() { echo "in f $1"; return 2; }; f a',
  'echo "$#" "$@"',
  'trap "echo bye" EXIT',
  'trap "echo term" TERM; kill -TERM $$; echo after',
  'kill -KILL $$',
  'exec echo replaced',
  'exec 3>&1; echo three >&3',
  'exec </dev/null',
  'echo to-stderr >&2',
  'for i in 1 2; do echo $i; done',
  'case x in x) echo x;; esac',
  'if true; then echo yes; fi',
  'echo unfinished "',
  'if',
  ')',
  'cat <<X',
  '# a comment',
  '',
  '  ',
  'a=1 b=2; echo $a$b',
  'echo $n$i$q$r$h$p$k$j$d',
  'set -- x y; shift; echo $1',
  'umask; cd /; pwd',
  "printf \"%s\\n\" \"\\\"; echo 'it'\\''s'",
  'missing-program; echo $?',
  'ulimit -n >/dev/null && echo ok',
  'alias e=echo; e alias',
  'echo a \\\n  b',
  'while read -r l; do echo "[$l]"; done',
  '[ -t 0 ] || echo no terminal',
];

const FIRST = [
  '',
  '#!/bin/sh',
  '#!/bin/bash',
  '#! /bin/sh -e',
  '#!/usr/bin/env bash',
  '#!/bin/sh -eu',
  '#!/bin/bash -x',
];

/** Scripts of these parts, some without a final line feed, some with CR LF. */
export const scripts = fc
  .tuple(
    fc.constantFrom(...FIRST),
    fc.array(fc.constantFrom(...PARTS), { maxLength: 7 }),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([first, parts, endsInLine, hasReturns]) => {
    const text = [...(first === '' ? [] : [first]), ...parts].join('\n') + (endsInLine ? '\n' : '');
    return hasReturns ? text.replaceAll('\n', '\r\n') : text;
  });
