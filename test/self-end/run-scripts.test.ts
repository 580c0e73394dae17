import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Container, programPath, SHELLS, type ShellName } from './container.ts';
import { type OwnKeyService, ownKeyService } from './own-key-service.ts';
import { RunMachine, until } from './run-machine.ts';
import { scripts } from './scripts.ts';

const shelf = new Container();
let service: OwnKeyService;

beforeAll(async () => {
  service = await ownKeyService(shelf.folder);
});

afterAll(async () => {
  await service.close();
  shelf.remove();
});

const PRESENT = SHELLS.filter((shell) => programPath(shell) !== undefined);

interface Ran {
  readonly exitCode: number | undefined;
  readonly log: string | undefined;
}

/** Runs a script as the program of a machine. */
async function asProgram(inside: RunMachine, script: string): Promise<Ran> {
  await inside.script(script);
  await until('the end of a script', () => inside.logged !== undefined);
  const { exitCode, log } = inside.logged ?? {};
  return { exitCode, log: tidy(inside, log ?? '') };
}

/** Runs a script from a file, with the same programs and variables, by the interpreter that it names. */
function directly(inside: RunMachine, script: string): Ran {
  const { folder } = inside.container;
  const bin = join(folder, 'bin');
  const file = join(folder, 'direct', 'run');
  mkdirSync(join(folder, 'direct'));
  const text = script.replaceAll('\r\n', '\n');
  writeFileSync(file, text);
  const named = /^#!(.*)/.exec(text)?.[1]?.trim();
  const hasBash = inside.tools.includes('bash');
  const [program = '', ...words] = named?.split(' ') ?? [join(bin, hasBash ? 'bash' : 'sh')];
  const output = join(folder, 'direct', 'output');
  const to = openSync(output, 'a');
  const env = { PATH: bin, HOME: folder, TMPDIR: folder };
  const { status, signal } = spawnSync(program, [...words, file], { env, stdio: ['ignore', to, to] });
  closeSync(to);
  const exitCode = signal === null ? (status ?? undefined) : 128 + constants.signals[signal];
  return { exitCode, log: tidy(inside, readFileSync(output, 'utf8')) };
}

/** Replaces what differs between two runs: the path of the file, numbers of processes, and the name of a shell. */
function tidy({ container: { folder } }: RunMachine, text: string): string {
  return text
    .replaceAll(join(folder, 'direct'), 'HERE')
    .replaceAll(join(folder, 'state'), 'HERE')
    .replaceAll(`${join(folder, 'bin')}/`, '')
    .replaceAll(/\b\d{2,}\b/g, 'N');
}

async function compare(shell: ShellName, script: string): Promise<Ran> {
  const inside = new RunMachine({ shell, service, clients: [] });
  try {
    const ran = await asProgram(inside, script);
    expect(ran).toEqual(directly(inside, script));
    return ran;
  } finally {
    inside.remove();
  }
}

/** Prints `bash` if that runs it. */
const SHOW = '[ -n "$BASH_VERSION" ] && echo bash\nexit 0\n';

describe('a script that runs to its end', () => {
  test.each(PRESENT)(
    'in %s has the output and the exit code that it has alone',
    async (shell) => {
      await fc.assert(
        fc.asyncProperty(scripts, async (script) => void (await compare(shell, script))),
        { numRuns: 8 },
      );
    },
    120_000,
  );

  test.each<[string, string, Ran]>([
    [
      'quotes and a heredoc',
      "cat <<'EOF'\n$HOME `it's` \"x\" \\\\\nEOF\n",
      { exitCode: 0, log: '$HOME `it\'s` "x" \\\\\n' },
    ],
    ['CR LF', 'echo one\r\ncat <<X\r\ntwo\r\nX\r\nexit 3\r\n', { exitCode: 3, log: 'one\ntwo\n' }],
    ['no final line feed', 'echo one; exit 4', { exitCode: 4, log: 'one\n' }],
    ['set -e', 'set -e\necho one\nfalse\necho two\n', { exitCode: 1, log: 'one\n' }],
    ['exec', 'exec cat <<X\nreplaced\nX\necho two\n', { exitCode: 0, log: 'replaced\n' }],
    ['a trap at its end', "trap 'echo bye' EXIT\necho one\nexit 6\n", { exitCode: 6, log: 'one\nbye\n' }],
    [
      'the words of the wrapper',
      'echo gpurental exit 0; echo "EOF"; exit 2\n',
      { exitCode: 2, log: 'gpurental exit 0\nEOF\n' },
    ],
    ['nothing', '', { exitCode: 0, log: '' }],
  ])(
    'has %s',
    async (_, script, result) => {
      for (const shell of PRESENT) expect(await compare(shell, script)).toEqual(result);
    },
    60_000,
  );

  test.each<[string, string, Ran]>([
    [
      'python3',
      '#!/usr/bin/env python3\nimport sys\nprint("it\'s", flush=True)\nsys.exit(7)\n',
      { exitCode: 7, log: "it's\n" },
    ],
    [
      'awk',
      '#!/usr/bin/awk -f\nBEGIN { print "$HOME `x` \\\\"; exit 4 }',
      { exitCode: 4, log: '$HOME `x` \\\n' },
    ],
    ['cat', "#!/bin/cat\nEOF\n'quoted'\n", { exitCode: 0, log: "#!/bin/cat\nEOF\n'quoted'\n" }],
    ['bash', `#!/bin/bash\n[[ a == a ]] && ${SHOW}`, { exitCode: 0, log: 'bash\n' }],
  ])(
    'is run by %s if its first line names that',
    async (_, script, result) => {
      const inside = new RunMachine({ shell: 'dash', service, clients: ['python3'] });
      expect(await asProgram(inside, script)).toEqual(result);
      inside.remove();
    },
    60_000,
  );

  test('is run by bash if the image has it, and else by sh', async () => {
    const script = SHOW;
    for (const tools of [['bash'], []]) {
      const inside = new RunMachine({ shell: 'dash', service, clients: [], tools });
      expect(await asProgram(inside, script)).toEqual({
        exitCode: 0,
        log: tools.length > 0 ? 'bash\n' : '',
      });
      inside.remove();
    }
  });

  test('runs if it is so long that the text is packed', async () => {
    const inside = new RunMachine({ shell: 'dash', service, clients: [], tools: ['base64', 'gzip'] });
    const script = `# ${'x'.repeat(8_000)}\necho one\nexit 6\n`;
    expect(inside.text({ type: 'script', text: script })).toContain('base64 -d');
    expect(await asProgram(inside, script)).toEqual({ exitCode: 6, log: 'one\n' });
    inside.remove();
  });
});
