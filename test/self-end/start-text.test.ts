import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { fuseLine } from '../../src/instance/self-end.ts';
import { startText } from '../../src/instance/start-text.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import { programPath, SHELLS, type ShellName } from './container.ts';
import { scripts } from './scripts.ts';

const folder = mkdtempSync(join(tmpdir(), 'start-text-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PRESENT = SHELLS.filter((shell) => programPath(shell) !== undefined);

/** Fuse of a machine that does not know itself: it ends at once, and leaves no process behind. */
const LINE = fuseLine(
  { url: 'https://market.example', facts: vastFacts.selfEnd ?? expect.fail('no facts') },
  { lifeSeconds: 600, leaseSeconds: 60 },
);

/** Result of a program. Messages of a shell name a line, which may move. */
interface Ran {
  readonly status: number | NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

type Way = 'file' | 'stdin' | 'text' | 'sourced' | 'execute';

let files = 0;

function run(shell: ShellName, text: string, way: Way): Ran {
  const file = join(folder, `${++files}`);
  writeFileSync(file, text, { mode: 0o755 });
  const path = programPath(shell) ?? shell;
  const words = shell === 'busybox' ? ['sh'] : [];
  const args = {
    file: [path, ...words, file],
    stdin: [path, ...words],
    text: [path, ...words, '-c', text],
    sourced: [path, ...words, '-c', `. ${file}; echo "sourced: $?"`],
    execute: [file],
  }[way];
  const script = way === 'stdin' ? text : 'first\nsecond\nthird\n';
  const [program = '', ...rest] = args;
  const env = { PATH: process.env['PATH'], TMPDIR: folder };
  const tidy = (output: string) =>
    output.replaceAll(file, 'FILE').replaceAll(/line \d+|: \d+(?=:)|\/tmp\.\w+/g, 'AT');
  const ran = spawnSync(program, rest, { input: script, encoding: 'utf8', env, timeout: 10_000 });
  return { status: ran.signal ?? ran.status, out: tidy(ran.stdout), err: tidy(ran.stderr) };
}

/** Returns the text in the form in which it is sent. */
function sent(text: string): string {
  const packed = vastFacts.script.pack(text);
  if (packed.type !== 'fits') throw new Error('too long');
  return packed.script;
}

describe('a start text', () => {
  test.each(PRESENT)(
    'in %s has the output and the status of its script',
    (shell) => {
      const ways = fc.constantFrom<Way>('file', 'stdin', 'text', 'sourced');
      fc.assert(
        fc.property(scripts, ways, (script, way) => {
          expect(run(shell, sent(startText(LINE ?? '', script)), way)).toEqual(run(shell, sent(script), way));
        }),
        { numRuns: 40 },
      );
    },
    60_000,
  );

  test.each<[string, string, string, number]>([
    [
      'python3',
      '#!/usr/bin/env python3\nimport sys\nprint("it\'s", sys.stdin.readline())\nsys.exit(7)\n',
      "it's first",
      7,
    ],
    ['awk', '#!/usr/bin/awk -f\nNR == 2 { print "$HOME `x` \\\\ " $1; exit 4 }', '$HOME `x` \\ second', 4],
    ['cat', "#!/bin/cat\nEOF\n'quoted'\n", "#!/bin/cat\nEOF\n'quoted'", 0],
    ['a restricted shell', '#!/bin/bash -r\necho restricted\n', 'restricted', 0],
    ['a shell that shows its lines', '#!/bin/sh -v\necho shown\n', 'shown', 0],
  ])('runs a script of %s by that program', (_, script, output, status) => {
    for (const way of ['execute', 'file'] as const) {
      const ran = run('dash', sent(startText(LINE ?? '', script)), way);
      expect({ out: ran.out.trim(), status: ran.status, err: ran.err.includes('CONTAINER') }).toEqual({
        ...{ out: output, status },
        err: false,
      });
    }
  });

  test('runs a packed script as it runs a short one', () => {
    const script = `#!/bin/bash\n# ${'x'.repeat(4_000)}\necho "$BASH" | tr -d /\nexit 6\n`;
    const text = sent(startText(LINE ?? '', script));
    expect(text).toContain('base64 -d');
    expect(run('dash', text, 'file')).toMatchObject({ status: 6, out: 'binbash\n' });
  });
});
