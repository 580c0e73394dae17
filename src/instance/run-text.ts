import { shellCommand, shellQuoted } from '../lib/shell.ts';
import type { Fuses } from '../market/self-end.ts';
import { type FuseTarget, fuseCounting, OWN_FOLDER, ownCalls } from './self-end.ts';

/* Start text of a container that runs one program to its end. PURE. */

/** A program that runs to its end. */
export type RunProgram =
  | { readonly type: 'script'; readonly text: string }
  | { readonly type: 'words'; readonly words: readonly string[] };

/** Run of a program on one machine. */
export interface Run extends FuseTarget {
  readonly fuses: Fuses;
  /** Letters and digits that only this attempt to rent has. */
  readonly nonce: string;
  readonly program: RunProgram;
  /** True if the text is the first process of the container, so that it must not return. */
  readonly isFirstProcess?: boolean;
}

/** Seconds between two requests to stop, and between a TERM from outside and the result. */
const REPEAT_SECONDS = 60;

/**
 * Returns the start text; undefined if no key may be sent to the address, or the market has no stop. The text returns at
 * once and prints nothing.
 *
 * The program starts in the folder of the text, without input. All that it prints is in the log of the container, between
 * the lines `gpurental NONCE start ATTEMPT` and `gpurental NONCE exit CODE`; each begins a line. Then the file
 * `exit.CODE.NONCE` exists, and the machine asks the marketplace to stop it until that has happened. A container that
 * starts again after that only repeats the last line and the request. If it starts again before, the program runs again,
 * with the next number in `GPURENTAL_ATTEMPT` and with `RESUME=1`.
 *
 * A TERM to the first process, or of a due fuse, goes to the program alone, and after its end to the processes that it
 * left. A program that ends after it has no result while the stop may still come: a container that the marketplace
 * interrupts may start again.
 */
export function runText(run: Run): string | undefined {
  const { facts, fuses, nonce, program, isFirstProcess = false } = run;
  const calls = ownCalls(run);
  if (calls === undefined || facts.stop === undefined) return undefined;
  const counting = fuseCounting(run, fuses, { skipProbe: '[ -f z ]', beforeEnd: 'kill $_q' });
  const { file, start } = startOf(program);
  const print = (event: string, value: string): string =>
    `(printf '\\ngpurental ${nonce} ${event} %s\\n' ${value}>&3)`;
  // The program inherits every variable that its environment has: names of one letter change in subshells only.
  const lines = [
    // The end of the session that ran the text ends no program.
    "trap '' 1;set -f +emux",
    `f(){ ${calls.join('\n')};}`,
    // Without its folder it runs once, in a folder that no restart finds.
    `m(){ mkdir -p "$_d";cd "$_d"||{ _d=$(mktemp -d);cd "$_d";};}`,
    `_d=${OWN_FOLDER} _z=0`,
    'm',
    // A shell ends if a redirection of `exec` fails. The first process has its own output already.
    ...(isFirstProcess ? [] : [`_o=\${GPURENTAL_LOG:-/proc/1/fd/1}`, '(exec 3>>$_o)&&exec 3>>$_o']),
    ...(counting === undefined
      ? []
      : ["_q=$(exec sh -c 'echo $PPID')", `(trap '' 1 2 3 15;f;${counting.join('\n')})3>&-&`]),
    `_e=$(set +f;echo exit.*.${nonce})`,
    `_e=\${_e#*.};_e=\${_e%%.*}`,
    '[ "$_e" -ge 0 ]||{',
    '_a=0;read -r _a<a;[ "$_a" -ge 0 ]||_a=0;echo $((_a+=1))>b&&mv b a',
    print('start', '$_a'),
    // On a full disk the file is empty, and an empty script succeeds.
    ...(file === undefined ? ['('] : [`(printf %s ${shellQuoted(file)}>run||exit`]),
    `cd -;export GPURENTAL_ATTEMPT=$_a;case $_a\${GPURENTAL_REPLACEMENT:-0} in 10);;*)export RESUME=1;esac`,
    `exec $(command -v setsid) ${start} >&3 2>&1 3>&-)&`,
    `_p=$!;trap '_z=${REPEAT_SECONDS};kill $_p' 15`,
    'while wait $_p;_e=$?;kill -0 $_p;do :;done',
    // A shell without a trap ends at once and forwards nothing: its programs get the TERM after it.
    `[ $_z = 0 ]||kill -15 -$_p;sleep $_z;m;>z;>exit.$_e.${nonce}`,
    '}',
    `while :;do ${print('exit', '$_e')};(f;c ${facts.stop.method} ${shellQuoted(facts.stop.body)});sleep ${REPEAT_SECONDS};done`,
  ];
  const text = lines.join('\n');
  return isFirstProcess
    ? `exec 3>&1 </dev/null >/dev/null 2>&1\n${text}\n`
    : `#!/bin/sh\n( (${text})&)3>&1 </dev/null >/dev/null 2>&1\n`;
}

interface Start {
  /** Text of the file `run` in the folder of the fuse; undefined if there is none. */
  readonly file?: string;
  /** Command line of the program. */
  readonly start: string;
}

function startOf(program: RunProgram): Start {
  if (program.type === 'words') return { start: shellCommand(program.words) };
  const [, interpreter] = /^#!([^\n]*)/.exec(program.text) ?? [];
  return {
    file: program.text,
    // `cd -` has left the folder. A script without a first line is for bash, as the marketplace documents it.
    start: `${interpreter?.trim() || '$(command -v bash||echo sh)'} "$OLDPWD/run"`,
  };
}
