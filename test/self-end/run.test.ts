import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLIENTS, Container, programPath, SHELLS, type ShellName, TICK_SECONDS } from './container.ts';
import { type OwnKeyService, ownKeyService } from './own-key-service.ts';
import { type MachineOptions, NONCE, RunMachine, until } from './run-machine.ts';

const shelf = new Container();
let service: OwnKeyService;

beforeAll(async () => {
  service = await ownKeyService(shelf.folder);
});

afterAll(async () => {
  for (const made of machines) made.remove();
  await service.close();
  shelf.remove();
});

const PRESENT = SHELLS.filter((shell) => programPath(shell) !== undefined);
const CALLING = CLIENTS.filter((client) => programPath(client) !== undefined);
const PAIRS = PRESENT.flatMap((shell) => CALLING.map((client) => [shell, client] as const));
const PATIENT = { timeout: 120_000 };

const machines: RunMachine[] = [];

function machine(shell: ShellName, options: Partial<MachineOptions> = {}): RunMachine {
  const made = new RunMachine({ shell, service, ...options });
  machines.push(made);
  return made;
}

const ticks = (count: number) => pause(count * TICK_SECONDS * 1_000);
const countOf = (text: string, part: string) => text.split(part).length - 1;
const START = `gpurental ${NONCE} start`;
const EXIT = `gpurental ${NONCE} exit`;

/** Returns a script that ends when `name` exists in the home folder, or at a TERM with a checkpoint. */
const waiting = (name: string, code = 0) =>
  [
    `trap 'echo checkpoint; exit ${code}' TERM`,
    'echo "attempt $GPURENTAL_ATTEMPT, resume <$RESUME>"',
    `until [ -f "$HOME/${name}" ]; do sleep 1; done`,
    'echo done',
    '',
  ].join('\n');
const allow = ({ container: { folder } }: RunMachine, name: string) => writeFileSync(join(folder, name), '');

/** Makes the pause after a TERM from outside, and between two requests to stop, longer than any test. */
function withLongPauses({ container }: RunMachine): void {
  const sleep = programPath('sleep');
  container.program(
    'sleep',
    `#!/bin/sh\n[ "$1" = 60 ] && exec ${sleep} 3600\nexec ${sleep} ${TICK_SECONDS}\n`,
  );
}

describe.concurrent('a program that runs to its end', PATIENT, () => {
  test.each(PRESENT.flatMap((shell) => [0, 7, 143, 255].map((code) => [shell, code] as const)))(
    'in %s reports exit code %d in the log and as a file, and stops its machine',
    async (shell, code) => {
      const inside = machine(shell);
      await inside.script(`echo one\necho two >&2\nexit ${code}\n`);
      expect(await inside.finished()).toEqual({ exitCode: code, log: 'one\ntwo\n', isWhole: true });
      expect(inside.listed).toBe(code);
      inside.kill();
    },
  );

  test.each(
    PRESENT.flatMap((shell) =>
      (
        [
          ['KILL', 137],
          ['TERM', 143],
          ['SEGV', 139],
        ] as const
      ).map((pair) => [shell, ...pair] as const),
    ),
  )('in %s that is ended by SIG%s reports exit code %d', async (shell, signal, code) => {
    const inside = machine(shell);
    await inside.script(`echo one\nkill -${signal} $$\n`);
    expect(await inside.finished()).toMatchObject({ exitCode: code });
    expect(inside.listed).toBe(code);
    inside.kill();
  });

  test.each(PAIRS)('in %s stops its own machine by %s, with its own key', async (shell, client) => {
    const inside = machine(shell, { clients: [client] });
    inside.container.program('say', '#!/bin/sh\nprintf "%s\\n" "$@"\n');
    await inside.start({ type: 'words', words: ['say', "it's $HOME", '', '*'] });
    expect(await inside.finished()).toEqual({ exitCode: 0, log: "it's $HOME\n\n*\n", isWhole: true });
    const { id } = inside.container;
    expect(inside.calls()[0]).toEqual({
      ...{ method: 'PUT', path: `/api/v0/instances/${id}/`, key: `Bearer key-${id}` },
      body: '{"state":"stopped"}',
    });
    inside.kill();
  });

  test.each(PAIRS)('in %s repeats a stop that %s brings back refused', async (shell, client) => {
    const inside = machine(shell, { clients: [client] });
    service.replies.set(`PUT /api/v0/instances/${inside.container.id}/`, [500, 403, 429, 302]);
    await inside.script('exit 3\n');
    await until('five requests to stop', () => inside.stops >= 5);
    expect(countOf(inside.log, `${EXIT} 3\n`)).toBeGreaterThanOrEqual(5);
    expect(countOf(inside.log, START)).toBe(1);
    inside.kill();
  });

  test.each(PRESENT)('in %s is reported without a client, and no call is made', async (shell) => {
    const inside = machine(shell, { clients: [] });
    await inside.script('echo one\n');
    await until('a repeated marker', () => countOf(inside.log, EXIT) >= 3);
    expect([inside.logged, inside.listed, inside.calls()]).toEqual([
      { exitCode: 0, log: 'one\n', isWhole: true },
      0,
      [],
    ]);
    inside.kill();
  });

  test.each(PRESENT)('in %s does not run again when its container starts again', async (shell) => {
    const inside = machine(shell);
    await inside.script('echo once\nexit 7\n');
    await inside.finished();
    inside.kill();
    const [stops, markers] = [inside.stops, countOf(inside.log, `${EXIT} 7\n`)];
    await inside.script('echo once\nexit 7\n');
    await until('another request to stop', () => inside.stops > stops);
    expect(countOf(inside.log, `${EXIT} 7\n`)).toBeGreaterThan(markers);
    expect([countOf(inside.log, 'once\n'), countOf(inside.log, START)]).toEqual([1, 1]);
    expect(inside.logged).toEqual({ exitCode: 7, log: 'once\n', isWhole: true });
    inside.kill();
  });

  test.each(PRESENT)('in %s runs again when it was cut, and no line is lost or doubled', async (shell) => {
    const inside = machine(shell);
    await inside.script(waiting('go'));
    await until('the first line', () => inside.log.includes('attempt 1'));
    inside.kill();
    expect([inside.logged, inside.listed, inside.stops]).toEqual([undefined, undefined, 0]);
    await inside.script(waiting('go'));
    allow(inside, 'go');
    expect(await inside.finished()).toEqual({
      ...{ exitCode: 0, isWhole: true },
      log: 'attempt 2, resume <1>\ndone\n',
    });
    const first = `\n${START} 1\nattempt 1, resume <>\n`;
    expect(inside.log.slice(0, first.length)).toBe(first);
    expect(countOf(inside.log, 'attempt ')).toBe(2);
    inside.kill();
  });

  test('resumes at its first attempt on a machine that replaces another one', async () => {
    const inside = machine('dash', { env: { GPURENTAL_REPLACEMENT: '1' } });
    allow(inside, 'go');
    await inside.script(waiting('go'));
    expect(await inside.finished()).toMatchObject({ log: 'attempt 1, resume <1>\ndone\n' });
    inside.kill();
  });

  test('does not resume on the first machine', async () => {
    const inside = machine('dash', { env: { GPURENTAL_REPLACEMENT: '0' } });
    allow(inside, 'go');
    await inside.script(waiting('go'));
    expect(await inside.finished()).toMatchObject({ log: 'attempt 1, resume <>\ndone\n' });
    inside.kill();
  });
});

describe.concurrent('a TERM to the first process', PATIENT, () => {
  const images = PRESENT.flatMap((shell) =>
    ['with setsid', 'without setsid'].map(
      (image) => [shell, image, image === 'with setsid' ? ['setsid'] : []] as const,
    ),
  );

  test.each(images)(
    'in %s %s reaches the program, whose checkpoint is in the log, and it has no result',
    async (shell, _, tools) => {
      const inside = machine(shell, { tools });
      withLongPauses(inside);
      await inside.script(waiting('never'));
      await until('the first line', () => inside.log.includes('attempt 1'));
      inside.container.signal('SIGTERM');
      await until('the checkpoint', () => inside.log.includes('checkpoint\n'));
      await ticks(5);
      expect([inside.logged, inside.listed, inside.stops]).toEqual([undefined, undefined, 0]);
      // The marketplace interrupts it, and starts it later.
      inside.kill();
      allow(inside, 'never');
      await inside.script(waiting('never'));
      expect(await inside.finished()).toMatchObject({ log: 'attempt 2, resume <1>\ndone\n' });
      inside.kill();
    },
  );

  test.each(PRESENT)('in %s reaches a program that a script waits for', async (shell) => {
    const inside = machine(shell);
    inside.container.program('train', `#!/bin/sh\n${waiting('never')}`);
    withLongPauses(inside);
    await inside.script('train\necho after\n');
    await until('the first line', () => inside.log.includes('attempt 1'));
    inside.container.signal('SIGTERM');
    await until('the checkpoint', () => inside.log.includes('checkpoint\n'));
    inside.kill();
  });

  test.each(PRESENT)('in %s reaches the program alone until that has ended', async (shell) => {
    const inside = machine(shell);
    inside.container.program('worker', `#!/bin/sh\ntrap 'echo worker-term' TERM\n${'sleep 1\n'.repeat(20)}`);
    const slow = `trap 'sleep 1; echo checkpoint; exit 5' TERM`;
    inside.container.program('train', `#!/bin/sh\n${slow}\nworker &\necho begun\n${'sleep 1\n'.repeat(40)}`);
    withLongPauses(inside);
    await inside.start({ type: 'words', words: ['train'] });
    await until('the first line', () => inside.log.includes('begun'));
    inside.container.signal('SIGTERM');
    await until('the TERM of the worker', () => inside.log.includes('worker-term'));
    expect(inside.log).toMatch(/checkpoint\n[\s\S]*worker-term/);
    inside.kill();
  });

  test.each(PRESENT)('in %s that stops no machine leaves the result', async (shell) => {
    const inside = machine(shell);
    await inside.script(waiting('never', 9));
    await until('the first line', () => inside.log.includes('attempt 1'));
    inside.container.signal('SIGTERM');
    expect(await inside.finished()).toMatchObject({ exitCode: 9, log: 'attempt 1, resume <>\ncheckpoint\n' });
    inside.kill();
  });

  test.each(images)(
    'in %s %s from the program to its own group leaves the result',
    async (shell, _, tools) => {
      const inside = machine(shell, { tools });
      await inside.script("trap 'exit 4' TERM\necho one\nkill 0\nsleep 1\n");
      expect(await inside.finished()).toMatchObject({ log: 'one\n' });
      // Without a group of its own it gets a second TERM.
      expect(tools.length === 0 ? [4, 143] : [4]).toContain(inside.listed);
      inside.kill();
    },
  );

  test.each(PRESENT)('in %s that a program survives is repeated until it ends', async (shell) => {
    const inside = machine(shell);
    await inside.script(
      "trap 'n=$((n + 1)); echo term $n; [ $n -lt 3 ] || exit 6' TERM\necho one\nwhile :; do sleep 1; done\n",
    );
    for (const mark of ['one\n', 'term 1\n', 'term 2\n']) {
      await until(mark, () => inside.log.includes(mark));
      inside.container.signal('SIGTERM');
    }
    expect(await inside.finished()).toMatchObject({ exitCode: 6 });
    inside.kill();
  });
});

describe.concurrent('the fuse of a program', PATIENT, () => {
  const ends = (inside: RunMachine) => inside.calls('{}').filter(({ method }) => method === 'DELETE');

  test.each(PRESENT)('in %s sends TERM a tick before it ends the machine', async (shell) => {
    const inside = machine(shell, { fuses: { lifeSeconds: 90 } });
    withLongPauses(inside);
    await inside.script(waiting('never'));
    await until('the end', () => ends(inside).length > 0);
    expect(inside.log).toContain('checkpoint\n');
    // A stop would end the fuse, and the disk would be billed until the operator returns.
    expect([inside.stops, inside.listed]).toEqual([0, undefined]);
    await until('another end', () => ends(inside).length > 1);
    inside.kill();
  });

  test.each(PRESENT)('in %s ends a machine whose stop is refused', async (shell) => {
    const inside = machine(shell, { fuses: { lifeSeconds: 300 } });
    service.replies.set(
      `PUT /api/v0/instances/${inside.container.id}/`,
      Array.from({ length: 99 }, () => 403),
    );
    await inside.script('exit 0\n');
    await until('the end', () => ends(inside).length > 0);
    expect(inside.logged).toMatchObject({ exitCode: 0 });
    inside.kill();
  });

  test.each(PRESENT)('in %s proves itself while the program runs', async (shell) => {
    const inside = machine(shell, { fuses: { lifeSeconds: 90_000 } });
    await inside.script(waiting('go'));
    await until('the proof', () => inside.files.split('\n').includes('ok'));
    expect(inside.calls('{"state":"running"}')).toHaveLength(1);
    inside.kill();
  });

  test.each(PRESENT)('in %s does not start the machine after the end of the program', async (shell) => {
    const inside = machine(shell, { fuses: { lifeSeconds: 90_000, leaseSeconds: 600 } });
    const { folder } = inside.container;
    const gate = `until [ -f ${folder}/go ]; do ${programPath('sleep')} 0.1; done`;
    const sleep = `exec ${programPath('sleep')} ${TICK_SECONDS}`;
    inside.container.program('sleep', `#!/bin/sh\n[ "$1" = 30 ] && ${gate}\n${sleep}\n`);
    await inside.script('exit 0\n');
    await inside.finished();
    allow(inside, 'go');
    await until('the count', () => inside.files.split('\n').includes('t'));
    await until('more counts', () => Number(readFileSync(join(inside.container.state, 't'), 'utf8')) >= 120);
    expect(inside.calls('{"state":"running"}')).toEqual([]);
    inside.kill();
  });
});

describe.concurrent('the log of a program', PATIENT, () => {
  test.each(PRESENT)(
    'in %s has 10 MB that are printed at once, and the lines before the end',
    async (shell) => {
      const inside = machine(shell, { tools: ['setsid', 'head'] });
      const line = 'x'.repeat(99);
      await inside.script(`echo first\nwhile :; do echo ${line}; done | head -c 10000000\necho last\n`);
      const result = await inside.finished();
      expect(result?.exitCode).toBe(0);
      expect(result?.log).toBe(`first\n${`${line}\n`.repeat(100_000)}last\n`);
      inside.kill();
    },
  );

  test.each(PRESENT)('in %s has the first lines of a program that ends at once', async (shell) => {
    const inside = machine(shell);
    await inside.script('i=0; while [ $i -lt 2000 ]; do echo $((i += 1)); done\n');
    const lines = Array.from({ length: 2000 }, (_, at) => `${at + 1}\n`).join('');
    expect(await inside.finished()).toEqual({ exitCode: 0, log: lines, isWhole: true });
    inside.kill();
  });

  test.each(PRESENT)('in %s has a last line without a line feed', async (shell) => {
    const inside = machine(shell);
    await inside.script('printf abc; exit 2\n');
    expect(await inside.finished()).toEqual({ exitCode: 2, log: 'abc', isWhole: true });
    inside.kill();
  });

  test.each(PRESENT)('in %s is the output of the text if the first process has none', async (shell) => {
    const inside = machine(shell, { env: { GPURENTAL_LOG: '/nowhere/log' } });
    const output: string[] = [];
    const { child } = inside.spawn({ type: 'script', text: 'echo one\nexit 3\n' });
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk.toString()));
    await until('a request to stop', () => inside.stops > 0);
    // A slow test may see the next request, too.
    expect(output.join('').replaceAll(`\n${EXIT} 3\n`, '')).toBe(`\n${START} 1\none\n`);
    inside.kill();
  });
});

describe.concurrent('a program that disturbs its machine', PATIENT, () => {
  test.each(PRESENT)(
    'in %s is reported when it deletes the folder, and does not run again',
    async (shell) => {
      const inside = machine(shell, { fuses: { lifeSeconds: 90_000 } });
      const script = 'rm -rf "$GPURENTAL_DIR"\necho deleted\nexit 5\n';
      await inside.script(script);
      expect(await inside.finished()).toMatchObject({ exitCode: 5 });
      expect(inside.listed).toBe(5);
      inside.kill();
      const { stops } = inside;
      await inside.script(script);
      await until('another request to stop', () => inside.stops > stops);
      expect(countOf(inside.log, 'deleted\n')).toBe(1);
      inside.kill();
    },
  );

  test.each(PRESENT)('in %s is reported in the log when there can be no folder', async (shell) => {
    const inside = machine(shell);
    writeFileSync(inside.container.state, 'a file');
    await inside.script('echo one\nexit 5\n');
    expect(await inside.finished()).toEqual({ exitCode: 5, log: 'one\n', isWhole: true });
    inside.kill();
  });

  test.each(PRESENT)('in %s does not succeed when its disk is full', async (shell) => {
    const inside = machine(shell);
    mkdirSync(inside.container.state);
    symlinkSync('/dev/full', join(inside.container.state, 'run'));
    await inside.script('echo one\n');
    const result = await inside.finished();
    expect(result?.exitCode).toBeGreaterThan(0);
    expect(inside.listed).toBe(result?.exitCode);
    inside.kill();
  });

  test.each(PRESENT)('in %s has the environment and the folder that the text has', async (shell) => {
    const names = [
      'a',
      'b',
      'c',
      'd',
      'e',
      'f',
      'h',
      'i',
      'j',
      'k',
      'm',
      'n',
      'o',
      'p',
      'q',
      'r',
      's',
      'x',
      'z',
    ];
    const env = Object.fromEntries(names.map((name) => [name, `own-${name}`]));
    const inside = machine(shell, { env, fuses: { lifeSeconds: 90_000, leaseSeconds: 600 } });
    await inside.script(`echo ${names.map((name) => `$${name}`).join(' ')}\npwd\necho $-\necho $#\n`);
    const result = await inside.finished();
    const [values, folder, options, count] = result?.log.split('\n') ?? [];
    expect(values).toBe(names.map((name) => `own-${name}`).join(' '));
    expect([folder, count]).toEqual([process.cwd(), '0']);
    expect(options).not.toMatch(/[efux]/);
    inside.kill();
  });

  test.each(['', 'a', '-5', '30 60'])('begins with attempt 1 when the count reads %j', async (text) => {
    const inside = machine('dash');
    mkdirSync(inside.container.state);
    writeFileSync(join(inside.container.state, 'a'), `${text}\n`);
    await inside.script('echo $GPURENTAL_ATTEMPT\n');
    expect(await inside.finished()).toMatchObject({ log: '1\n' });
    inside.kill();
  });

  test.each(['CONTAINER_ID', 'CONTAINER_API_KEY'])(
    'is reported without %s, and no call is made',
    async (name) => {
      const inside = machine('dash', { env: { [name]: '' } });
      await inside.script('exit 8\n');
      await until('a repeated marker', () => countOf(inside.log, EXIT) >= 3);
      expect([inside.logged?.exitCode, inside.calls()]).toEqual([8, []]);
      inside.kill();
    },
  );

  test.each(PRESENT)('in %s that does not exist has exit code 127', async (shell) => {
    const inside = machine(shell);
    await inside.start({ type: 'words', words: ['no-such-program', 'a'] });
    expect(await inside.finished()).toMatchObject({ exitCode: 127 });
    inside.kill();
  });
});

describe('a text of the first process', PATIENT, () => {
  test.each(PRESENT)('in %s does not return, and reports to its own output', async (shell) => {
    const inside = machine(shell);
    const { child } = inside.spawn({ type: 'script', text: waiting('go', 9) }, { isFirstProcess: true });
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await until('the first line', () => output.includes('attempt 1'));
    expect(child.exitCode).toBeNull();
    child.kill('SIGTERM');
    await until('a request to stop', () => inside.stops > 0);
    expect(output).toContain(`\n${START} 1\nattempt 1, resume <>\ncheckpoint\n\n${EXIT} 9\n`);
    expect(child.exitCode).toBeNull();
    inside.kill();
  });

  test.each(PRESENT)('in %s ends its machine when a fuse is due, after the checkpoint', async (shell) => {
    const inside = machine(shell, { fuses: { lifeSeconds: 60 } });
    const { child } = inside.spawn({ type: 'script', text: waiting('go', 9) }, { isFirstProcess: true });
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await until('the checkpoint', () => output.includes('checkpoint'));
    await until('a request to end', () => inside.calls('{}').length > 0);
    expect(inside.calls('{}')[0]?.method).toBe('DELETE');
    inside.kill();
  });

  test('is not longer than half of what a marketplace takes', () => {
    const inside = machine('dash', { fuses: { lifeSeconds: 90_000, leaseSeconds: 86_400 } });
    expect(inside.text({ type: 'script', text: '' }).length).toBeLessThan(2_024);
    expect(machine('dash').text({ type: 'words', words: ['train'] }).length).toBeLessThan(1_700);
  });
});
