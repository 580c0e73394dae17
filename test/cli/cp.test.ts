import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Interrupted } from '../../src/cli/command-error.ts';
import { HAS_RSYNC, SSHD, type SshMachine, sshMachine } from '../builders/ssh-machine.ts';
import { until } from '../builders/until.ts';
import { type Desk, desk } from './desk.ts';

/* Files and folders copied to and from a machine whose SSH server is a real one, by each program that copies. */

const NAMES = [`it's a "b" ünï→日本 $HOME`, 'a*b?[c]\\d', 'back\\slash', '-rf co:lon #hash%'];

const BY = [...(HAS_RSYNC ? (['rsync'] as const) : []), 'scp' as const];

describe.skipIf(SSHD === undefined).each(BY)('gpu-rent cp by %s', (by) => {
  let here: Desk;
  let machine: SshMachine;
  let local: string;
  let remote: string;

  beforeAll(async () => {
    [here, machine] = await Promise.all([desk(), sshMachine({ withoutRsync: by === 'scp' })]);
    here.put('gpuinstances', {
      metadata: { name: 'trainer' },
      spec: { image: 'x', ssh: true, offers: [{ maxPricePerHour: '1' }] },
    });
  }, 60_000);
  beforeEach(() => {
    here.cluster.answer = here.stored;
    placed('7');
    local = mkdtempSync(join(here.cluster.cli.home, 'local '));
    remote = mkdtempSync(join(machine.home, 'remote '));
  });
  afterAll(() => Promise.all([here.close(), machine.close()]));

  const placed = (instanceId: string, port = machine.port) =>
    here.status('gpuinstances', 'trainer', {
      ...{ phase: 'Running', instanceId, ssh: { host: '127.0.0.1', port } },
    });
  const login = () => ['-i', machine.identity, '--user', machine.user];
  const cp = (from: string, to: string, more: object = {}) =>
    here.cluster.cli.run(['cp', ...login(), '--', from, to], more);
  const there = (path: string) => `gpui/trainer:${path}`;

  test('says what went where, and by which program', async () => {
    writeFileSync(join(local, 'a'), 'text');
    const { exitCode, stdout, stderr } = await here.cluster.cli.run([
      ...['cp', ...login(), '-o', 'json', join(local, 'a'), there(remote)],
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ from: join(local, 'a'), to: there(join(remote, 'a')), by });
  });

  test.each(NAMES)(
    'copies a file named %s both ways, with its content and its right to be run',
    async (name) => {
      const content = randomBytes(1000);
      writeFileSync(join(local, name), content);
      if (by === 'rsync') chmodSync(join(local, name), 0o755);
      expect(await cp(join(local, name), there(`${remote}/`))).toMatchObject({ exitCode: 0, stderr: '' });
      expect(readFileSync(join(remote, name)).equals(content)).toBe(true);
      mkdirSync(join(local, 'back'));
      expect(await cp(there(join(remote, name)), join(local, 'back'))).toMatchObject({ exitCode: 0 });
      expect(readFileSync(join(local, 'back', name)).equals(content)).toBe(true);
      if (by === 'rsync') expect(statSync(join(local, 'back', name)).mode & 0o111).toBe(0o111);
      // Under another name.
      expect(await cp(there(join(remote, name)), join(local, 'other name'))).toMatchObject({ exitCode: 0 });
      expect(readFileSync(join(local, 'other name')).equals(content)).toBe(true);
    },
  );

  test('copies a folder of a thousand files both ways, into an existing folder and under a new name', async () => {
    const source = join(local, 'data set');
    for (let at = 0; at < 1000; at += 1) {
      const folder = join(source, `part ${at % 10}`, 'ünder');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, `${at}.txt`), `file ${at}`);
    }
    mkdirSync(join(source, 'empty'));
    for (const name of NAMES) writeFileSync(join(source, name), name);
    expect(await cp(source, there(remote))).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await cp(there(join(remote, 'data set')), join(local, 'new name'))).toMatchObject({ exitCode: 0 });
    const files = (folder: string) => readdirSync(folder, { recursive: true }).map(String).toSorted();
    expect(files(join(remote, 'data set'))).toEqual(files(source));
    expect(files(join(local, 'new name'))).toEqual(files(source));
    expect(readFileSync(join(local, 'new name', 'part 7', 'ünder', '997.txt'), 'utf8')).toBe('file 997');
    // Again, over what is there: nothing is nested into itself.
    expect(await cp(there(join(remote, 'data set')), `${local}/`)).toMatchObject({ exitCode: 0 });
    expect(files(source)).not.toContain('data set');
  });

  test('takes a path on the machine relative to the home of its login', async () => {
    // The server's own idea of home is that of the user who runs the tests: it is left alone.
    const { exitCode, stderr } = await cp(there('no such file here'), local);
    expect(exitCode).toBe(3);
    expect(stderr).toContain('There is no gpui/trainer:no such file here.');
  });

  test.each([
    ['absent', () => [join(local, 'absent'), there(remote)], 3, 'There is no '],
    ['a missing folder there', () => [machine.identity, there('/nowhere/x')], 1, 'its folder does not exist'],
    [
      'a missing folder here',
      () => [there(machine.identity), join(local, 'no/x')],
      1,
      'its folder does not exist',
    ],
    ['a folder onto a file', () => [local, there(machine.identity)], 1, 'is a file, and'],
  ] as const)('of %s is refused before anything is copied', async (_, ends, code, what) => {
    const [from = '', to = ''] = ends();
    const { exitCode, stdout, stderr } = await cp(from, to);
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
    expect(stderr).toContain(what);
    expect(readdirSync(remote)).toEqual([]);
  });

  test('brings nothing out of its folder, whatever links the machine holds', async () => {
    const secret = join(local, 'secret');
    writeFileSync(secret, 'mine');
    mkdirSync(join(remote, 'tree'));
    symlinkSync(secret, join(remote, 'tree', 'absolute'));
    symlinkSync('../../../../../../etc', join(remote, 'tree', 'climbing'));
    writeFileSync(join(remote, 'tree', 'file'), 'x');
    await cp(there(join(remote, 'tree')), join(local, 'tree'));
    expect(readFileSync(secret, 'utf8')).toBe('mine');
    const links = readdirSync(join(local, 'tree'), { withFileTypes: true }).filter((one) =>
      one.isSymbolicLink(),
    );
    expect(links).toEqual([]);
    expect(readFileSync(join(local, 'tree', 'file'), 'utf8')).toBe('x');
  });

  test('says that the machine was replaced in between', async () => {
    placed('7', 1);
    let reads = 0;
    here.cluster.answer = (asked) => {
      reads += 1;
      if (reads === 2) placed('8');
      return here.stored(asked);
    };
    const { exitCode, stderr } = await cp(there(remote), local);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('gpui/trainer runs on machine 8 now; machine 7 was replaced.');
  });

  test('says that the machine does not answer, and where', async () => {
    placed('7', 1);
    const { exitCode, stderr } = await cp(there(remote), local);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('gpui/trainer cannot be reached by SSH at 127.0.0.1:1; nothing was copied.');
  });

  const SIZE = 16 * 1024 * 1024;

  test.each(['upload', 'download'] as const)('that is cut during the %s says so', async (direction) => {
    const content = randomBytes(SIZE);
    const [source, folder] = direction === 'upload' ? [local, remote] : [remote, local];
    writeFileSync(join(source, 'big file'), content);
    const target = join(folder, 'big file');
    const ends =
      direction === 'upload'
        ? [join(local, 'big file'), there(folder)]
        : [there(join(remote, 'big file')), folder];
    const copy = () => cp(ends[0] ?? '', ends[1] ?? '');
    machine.relay.cutAfter(SIZE * 0.75);
    const cut = await copy();
    expect(cut.exitCode).toBe(1);
    expect(cut.stderr).toContain('not complete');
    expect(cut.stderr).toContain('Repeat the');
    if (by === 'scp') return expect(await copy()).toMatchObject({ exitCode: 0 });
    // Nothing has the name of the whole file before it is whole.
    expect(existsSync(target)).toBe(false);
    const partial = await until('the part is kept', () => {
      const path = join(folder, '.gpu-rent-partial', 'big file');
      return existsSync(path) && statSync(path).size;
    });
    expect(partial).toBeGreaterThan(SIZE / 4);
    const before = machine.relay.passed();
    expect(await copy()).toMatchObject({ exitCode: 0 });
    expect(machine.relay.passed() - before).toBeLessThan(SIZE * 0.9);
    expect(readFileSync(target).equals(content)).toBe(true);
    expect(existsSync(join(folder, '.gpu-rent-partial'))).toBe(false);
  });

  test.runIf(by === 'rsync')('never mixes the rest of a file that changed with its older half', async () => {
    writeFileSync(join(local, 'model'), randomBytes(SIZE));
    machine.relay.cutAfter(SIZE * 0.75);
    expect((await cp(join(local, 'model'), there(remote))).exitCode).toBe(1);
    const newer = randomBytes(SIZE);
    writeFileSync(join(local, 'model'), newer);
    expect(await cp(join(local, 'model'), there(remote))).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(remote, 'model')).equals(newer)).toBe(true);
  });

  test('that gets Ctrl-C says that it is not complete, and how to go on', async () => {
    writeFileSync(join(local, 'big'), randomBytes(SIZE));
    const abort = new AbortController();
    const before = machine.relay.passed();
    const running = cp(join(local, 'big'), there(remote), { signal: abort.signal });
    await until('some of it is copied', () => machine.relay.passed() > before + SIZE / 4);
    abort.abort(new Interrupted());
    const { exitCode, stderr } = await running;
    expect(exitCode).toBe(130);
    expect(stderr).toMatch(/^Interrupted\.$/m);
    expect(stderr).toContain('The copy is not complete');
    expect(await cp(join(local, 'big'), there(remote))).toMatchObject({ exitCode: 0 });
  });

  test('shows progress at a terminal', async () => {
    writeFileSync(join(local, 'big'), randomBytes(SIZE));
    const { cli } = here.cluster;
    const terminal = cli.atTerminal(['cp', ...login(), join(local, 'big'), there(remote)]);
    expect(await terminal.ended).toBe(0);
    if (by === 'rsync') expect(terminal.shown()).toMatch(/gpui\/trainer: [\d,]+ +\d+% +\S+B\/s/);
    expect(terminal.shown()).toContain('copied to gpui/trainer:');
    rmSync(join(remote, 'big'));
  });
});
