import { describe, expect, test } from 'vitest';
import { vastFacts } from '../markets/vast/facts.ts';
import { type Run, type RunProgram, runText } from './run-text.ts';
import { ownCalls } from './self-end.ts';

const facts = vastFacts.selfEnd ?? expect.fail('no facts');
const url = 'https://market.example';
const CALLS = ownCalls({ url, facts })?.join('\n') ?? expect.fail('no calls');
const SCRIPT: RunProgram = { type: 'script', text: "echo it's\n" };
const WORDS: RunProgram = { type: 'words', words: ['my tool', '--all', 'a b'] };

function textOf(run: Partial<Run>): string | undefined {
  return runText({ url, facts, fuses: {}, nonce: 'k3', program: WORDS, ...run });
}

const DEFINITIONS = [
  `f(){ ${CALLS};}`,
  `m(){ mkdir -p "$_d";cd "$_d"||{ _d=$(mktemp -d);cd "$_d";};}`,
  `_d=\${GPURENTAL_DIR:-/var/tmp/.gpurental} _z=0`,
  'm',
];
const OWN_OUTPUT = [`_o=\${GPURENTAL_LOG:-/proc/1/fd/1}`, '(exec 3>>$_o)&&exec 3>>$_o'];
const UNLESS_ENDED = [`_e=$(set +f;echo exit.*.k3)`, `_e=\${_e#*.};_e=\${_e%%.*}`, '[ "$_e" -ge 0 ]||{'];
const ATTEMPT = [
  '_a=0;read -r _a<a;[ "$_a" -ge 0 ]||_a=0;echo $((_a+=1))>b&&mv b a',
  String.raw`(printf '\ngpurental k3 start %s\n' $_a>&3)`,
];
const ENVIRONMENT = `cd -;export GPURENTAL_ATTEMPT=$_a;case $_a\${GPURENTAL_REPLACEMENT:-0} in 10);;*)export RESUME=1;esac`;
const WAIT = [
  `_p=$!;trap '_z=60;kill $_p' 15`,
  'while wait $_p;_e=$?;kill -0 $_p;do :;done',
  '[ $_z = 0 ]||kill -15 -$_p;sleep $_z;m;>z;>exit.$_e.k3',
  '}',
];
const STOP = String.raw`while :;do (printf '\ngpurental k3 exit %s\n' $_e>&3);(f;c PUT '{"state":"stopped"}');sleep 60;done`;

describe('the start text of a run (C01)', () => {
  test('has every command that it runs, and no other, when it starts a script beside fuses', () => {
    const text = textOf({ program: SCRIPT, fuses: { lifeSeconds: 600, leaseSeconds: 7_200 } });
    expect(text?.split('\n')).toEqual(
      [
        '#!/bin/sh',
        "( (trap '' 1;set -f +emux",
        ...DEFINITIONS,
        ...OWN_OUTPUT,
        "_q=$(exec sh -c 'echo $PPID')",
        "(trap '' 1 2 3 15;f;n=0 e=",
        'read -r n<t;[ "$n" -ge 0 ]||n=0',
        'q=$(cat renew) i=-999999999',
        'while sleep 30;do n=$((n+30))',
        'echo $n>x&&mv x t',
        `[ -f ok ]||[ $n -gt 300 ]||[ -f z ]||{ c PUT '{"state":"running"}'&&echo>ok;}`,
        'r=$(cat renew)&&i=$((i+30))&&{ [ "$r" = "$q" ]||{ q=$r i=0;};}',
        "[ $n -lt 600 ]&&[ $i -lt 7200 ]||{ [ $e ]||{ e=1;kill $_q&&continue;};c DELETE '{}';}",
        'done)3>&-&',
        ...UNLESS_ENDED,
        ...ATTEMPT,
        "(printf %s 'echo it'\\''s\n'>run||exit",
        ENVIRONMENT,
        'exec $(command -v setsid) $(command -v bash||echo sh) "$OLDPWD/run" >&3 2>&1 3>&-)&',
        ...WAIT,
        `${STOP})&)3>&1 </dev/null >/dev/null 2>&1`,
        '',
      ].flatMap((command) => command.split('\n')),
    );
  });

  test('does not return, and keeps its output, when it is the first process of a container', () => {
    expect(textOf({ isFirstProcess: true })?.split('\n')).toEqual(
      [
        'exec 3>&1 </dev/null >/dev/null 2>&1',
        "trap '' 1;set -f +emux",
        ...DEFINITIONS,
        ...UNLESS_ENDED,
        ...ATTEMPT,
        '(',
        ENVIRONMENT,
        "exec $(command -v setsid) 'my tool' --all 'a b' >&3 2>&1 3>&-)&",
        ...WAIT,
        STOP,
        '',
      ].flatMap((command) => command.split('\n')),
    );
  });

  test.each([
    ['#!/bin/sh\nexit 3\n', '/bin/sh'],
    ['#! /usr/bin/env python3 \r\nexit(3)\n', '/usr/bin/env python3'],
    ['#!/bin/dash', '/bin/dash'],
    ['#!\nexit 3\n', '$(command -v bash||echo sh)'],
    ['exit 3\n#!/bin/sh\n', '$(command -v bash||echo sh)'],
    ['', '$(command -v bash||echo sh)'],
  ])('starts the script %j by %s', (script, interpreter) => {
    const text = textOf({ program: { type: 'script', text: script } });
    expect(text).toContain(`\nexec $(command -v setsid) ${interpreter} "$OLDPWD/run" >&3 2>&1 3>&-)&\n`);
  });

  test('does not exist for an address to which no key may be sent', () => {
    expect(textOf({ url: 'http://market.example' })).toBeUndefined();
  });

  test('does not exist if the market has no stop', () => {
    const { stop: _, ...withoutStop } = facts;
    expect(textOf({ facts: withoutStop })).toBeUndefined();
  });
});
