import { shellQuoted } from '../lib/shell.ts';

/* Start text of a container, composed of a line of shell and a script. PURE. */

/** A shell that reads a line in front of the script as part of it; `-r` and `-v` would refuse or show that line. */
const SHELL = /^#![ \t]*(?:\/\S*\/env[ \t]+)?(?:\/\S*\/)?(?:ba|da|a)?sh(?:[ \t]+-[aefmuxC]+)?\s*$/;

/**
 * Returns a script that first runs `line`, one line of POSIX shell, and then does what `script` does: the same output and
 * exit status under any shell. Only the line numbers in messages of the shell grow by one. A script of another interpreter
 * is written to a file, which that interpreter runs.
 */
export function startText(line: string, script: string | undefined): string {
  if (script === undefined) return `#!/bin/sh\n${line}\n`;
  if (!script.startsWith('#!')) return `${line}\n${script}`;
  const end = script.indexOf('\n');
  const first = end < 0 ? script : script.slice(0, end);
  if (SHELL.test(first)) return `${first}\n${line}\n${end < 0 ? '' : script.slice(end + 1)}`;
  const interpreter = first.slice(2).trim();
  return `#!/bin/sh\n${line}\nf=$(mktemp)&&printf %s ${shellQuoted(script)}>"$f"&&${interpreter} "$f"\n`;
}
