import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandLine } from './command-line.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* Secrets come from files, the environment or a prompt, and appear nowhere but where they are asked for. */

let bench: MarketplaceBench;
beforeAll(async () => {
  bench = await marketplaceBench();
});
afterAll(() => bench.close());

const CANARY = 'canary-8c1f4e';
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe('--explain shows every call', () => {
  test.each([
    ['the key of the caller', ['show', 'user'], undefined],
    ['the value of a variable', ['create', 'secret', 'HF_TOKEN', '--value-file', '-'], CANARY],
    [
      'a container variable',
      ['create', 'instance', '8000000', '--image', 'ubuntu', '-e', `TOKEN=${CANARY}`],
      undefined,
    ],
    [
      'a start script',
      ['create', 'instance', '8000000', '--image', 'ubuntu', '--onstart', '-'],
      `export TOKEN=${CANARY}`,
    ],
  ] as const)('and not %s', async (_what, args, stdin) => {
    const options = stdin === undefined ? {} : { stdin };
    const { stdout, stderr } = await bench.cli.run([...args, '--explain'], options);
    expect(stderr).toMatch(/^> (GET|PUT|POST) http/m);
    expect(stderr).toMatch(/^< \d{3} /m);
    for (const secret of [CANARY, bench.service.simulator.apiKey])
      expect(stdout + stderr).not.toContain(secret);
  });
});

describe('the API key is read', () => {
  const keyless = () => commandLine({ GPU_RENT_URL: bench.url });

  test('from the per-user file below XDG_CONFIG_HOME', async () => {
    const cli = keyless();
    await mkdir(join(cli.home, 'xdg', 'gpu-rent'), { recursive: true });
    const file = join(cli.home, 'xdg', 'gpu-rent', 'api_key');
    await writeFile(file, `${bench.service.simulator.apiKey}\n`, { mode: 0o600 });
    const env = { XDG_CONFIG_HOME: join(cli.home, 'xdg') };
    expect(await cli.run(['show', 'user'], { env })).toMatchObject({ exitCode: 0, stderr: '' });
    cli.leave();
  });

  test.each([
    ['everybody', 0o604],
    ['its group', 0o640],
  ])('from a file that %s may read with a warning that names the remedy', async (_, mode) => {
    const cli = keyless();
    const file = join(cli.home, '.vast_api_key');
    await writeFile(file, bench.service.simulator.apiKey);
    await chmod(file, mode);
    const { exitCode, stderr } = await cli.run(['show', 'user']);
    expect(exitCode).toBe(0);
    expect(stderr).toBe(`Warning: others may read the key in ${file}. What to do: chmod 600 ${file}\n`);
    cli.leave();
  });

  test('from stdin', async () => {
    const cli = keyless();
    const stdin = `${bench.service.simulator.apiKey}\n`;
    expect(await cli.run(['show', 'user', '--api-key-file', '-'], { stdin })).toMatchObject({ exitCode: 0 });
    cli.leave();
  });

  test('and where there is none every way is named', async () => {
    const cli = keyless();
    const { exitCode, stderr } = await cli.run(['show', 'user']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      `Set GPU_RENT_API_KEY, write the key to ${join(cli.home, '.config/gpu-rent/api_key')}`,
    );
    cli.leave();
  });

  test('and never printed if it is malformed', async () => {
    const { exitCode, stderr } = await bench.cli.run(['show', 'user', '--api-key', `${CANARY} and more`]);
    expect(exitCode).toBe(2);
    expect(stderr).not.toContain(CANARY);
  });
});

describe('a key that is made', () => {
  test('is shown once where no file is named', async () => {
    const { stdout } = await bench.cli.run(['create', 'api-key', '--name', 'shown', '-o', 'json']);
    const { key } = JSON.parse(stdout);
    expect(
      Object.values(bench.service.simulator.world().tables.apiKeys).map(({ secret }) => secret),
    ).toContain(key);
    expect((await bench.cli.run(['list', 'api-keys', '-o', 'json'])).stdout).not.toContain(key);
  });

  test('goes to a file of mode 0600 and is not shown', async () => {
    const path = join(bench.cli.home, 'made.key');
    const { stdout } = await bench.cli.run(['create', 'api-key', '--for-operator', '--save', path]);
    const key = (await readFile(path, 'utf8')).trim();
    expect(await modeOf(path)).toBe(0o600);
    expect(stdout).not.toContain(key);
    expect(await bench.cli.run(['show', 'user', '--api-key-file', path])).toMatchObject({ exitCode: 0 });
  });

  test('for an operator may do what an operator does, and no more', async () => {
    const { stdout } = await bench.cli.run(['create', 'api-key', '--for-operator', '-o', 'json']);
    const { permissions } = JSON.parse(stdout);
    expect(Object.keys(permissions.api).sort()).toEqual([
      'instance_read',
      'instance_write',
      'misc',
      'user_read',
    ]);
    const { stdout: listed } = await bench.cli.run(['list', 'api-keys', '-o', 'json']);
    expect(JSON.parse(listed).at(-1).permissions).toEqual(permissions);
  });

  test('is not made where its file is there already', async () => {
    const path = join(bench.cli.home, 'taken.key');
    await writeFile(path, 'another key');
    const before = Object.keys(bench.service.simulator.world().tables.apiKeys).length;
    const { exitCode, stderr } = await bench.cli.run(['create', 'api-key', '--save', path]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('is there already and is not written over');
    expect(await readFile(path, 'utf8')).toBe('another key');
    expect(Object.keys(bench.service.simulator.world().tables.apiKeys)).toHaveLength(before);
  });

  test('leaves no empty file where it was refused', async () => {
    const path = join(bench.cli.home, 'refused.key');
    await bench.cli.run(['create', 'api-key', '--save', path, '--api-key', 'nobody']);
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('at a terminal', () => {
  test('a secret is asked for without echo', async () => {
    const terminal = bench.cli.atTerminal(['create', 'secret', 'ASKED']);
    await terminal.until('Value of ASKED (not shown):');
    expect(terminal.isHidden()).toBe(true);
    terminal.type(CANARY);
    expect(await terminal.ended).toBe(0);
    expect(terminal.isHidden()).toBe(false);
    expect(terminal.shown()).not.toContain(CANARY);
    expect(terminal.shown()).toContain('secret/ASKED created');
  });

  test('Ctrl-C at the question ends with 130, and shows again what is typed', async () => {
    const terminal = bench.cli.atTerminal(['create', 'secret', 'NEVER']);
    await terminal.until('Value of NEVER (not shown):');
    terminal.type('half a sec\u0003');
    expect(await terminal.ended).toBe(130);
    expect(terminal.isHidden()).toBe(false);
    expect(terminal.shown()).toContain('Interrupted.');
  });

  test('without one the option that answers is named', async () => {
    const { exitCode, stderr } = await bench.cli.run(['create', 'secret', 'PIPED']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Give --value-file.');
  });
});
