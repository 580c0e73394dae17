import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import ssh2 from 'ssh2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUNDLED_DEVELOPMENT_PACKAGES } from '../../scripts/build/bundled-packages.ts';
import {
  COMMAND,
  NOTICES,
  PACKAGES,
  PROGRAM,
  PROGRAM_FILES,
  RELAY,
  SSH_CLIENT,
} from '../../scripts/build/program-files.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { Secret } from '../../src/lib/secret.ts';
import { sshKeyOf } from '../../src/ownership/ssh-key.ts';
import { findOnPath } from '../cluster/kubectl.ts';

const run = promisify(execFile);
const UNPRIVILEGED = 65_532;
const setpriv = findOnPath('setpriv', process.env.PATH);
const isRoot = process.getuid?.() === 0;

/**
 * Command prefix that runs the bundle as the image does: as user `nobody`, without capabilities; empty if that is not
 * possible.
 */
const restricted: readonly [string, ...string[]] =
  setpriv !== undefined && isRoot
    ? [
        setpriv,
        ...[`--reuid=${UNPRIVILEGED}`, `--regid=${UNPRIVILEGED}`, '--clear-groups'],
        ...['--no-new-privs', '--inh-caps=-all', '--bounding-set=-all'],
        process.execPath,
      ]
    : [process.execPath];

let folder = '';
let bundle = '';

beforeAll(async () => {
  await run(process.execPath, [join(REPOSITORY, 'scripts/build.ts')], { cwd: REPOSITORY });
  folder = mkdtempSync(join(tmpdir(), 'image-'));
  for (const { name } of PROGRAM_FILES) {
    copyFileSync(join(REPOSITORY, 'dist', name), join(folder, name));
    chmodSync(join(folder, name), 0o444);
  }
  bundle = join(folder, COMMAND);
  chmodSync(folder, 0o555);
});
afterAll(() => {
  chmodSync(folder, 0o755);
  rmSync(folder, { recursive: true });
});

/** Starts an SSH server that lets everyone in, answers each command with `output` and ends the connection. */
async function sshServer(output: string) {
  const hostKey = sshKeyOf([new Secret('host')]).privateKey.reveal();
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
    client.on('authentication', (attempt) => attempt.accept());
    client.on('session', (accept) => {
      accept().on('exec', (acceptCommand) => {
        const channel = acceptCommand();
        channel.exit(0);
        channel.end(output, () => client.end());
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, close: () => server.close() };
}

const start = (...args: readonly string[]) => {
  const [program, ...before] = restricted;
  return run(program, [...before, bundle, ...args], { cwd: folder, env: { PATH: '/usr/bin:/bin' } });
};

describe('the bundle, in a read-only folder, as a user without any right', () => {
  test('holds at most 3.5 MB of our code', () => {
    expect(statSync(join(folder, PROGRAM)).size).toBeLessThanOrEqual(3.5 * 2 ** 20);
  });

  test('starts the relay from a file of its own, with the help that the whole program has', async () => {
    expect(statSync(join(folder, RELAY)).size).toBeLessThanOrEqual(1.4 * 2 ** 20);
    const { stdout } = await start('job', '--help');
    expect(stdout).toContain('Usage: gpu-rent job');
    expect((await start('help', 'job')).stdout).toBe(stdout);
  });

  test('lists every package with a module in it, in the bill of materials and in the notices', () => {
    const read = (...path: readonly string[]) => readFileSync(join(REPOSITORY, ...path), 'utf8');
    const bundled = JSON.parse(read('dist', PACKAGES)) as readonly { name: string; version: string }[];
    const lock = JSON.parse(read('package-lock.json')) as {
      readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly version?: string }>>;
    };
    const isRuntime = ({ name, version }: { readonly name: string; readonly version: string }) =>
      Object.entries(lock.packages).some(
        ([path, locked]) =>
          path.endsWith(`node_modules/${name}`) && locked.version === version && locked.dev !== true,
      );
    const development = bundled.filter((each) => !isRuntime(each)).map(({ name }) => name);
    expect(development.toSorted()).toEqual(BUNDLED_DEVELOPMENT_PACKAGES.toSorted());
    const notices = readFileSync(join(folder, NOTICES), 'utf8');
    for (const { name, version } of bundled) expect(notices).toContain(`## ${name} ${version} (`);
  });

  test('runs a command over SSH with the client beside it when a lease needs one', async () => {
    expect(readFileSync(join(folder, PROGRAM), 'utf8')).toContain(`import("./${SSH_CLIENT}")`);
    const machine = await sshServer('renewed');
    const [program, ...before] = restricted;
    const script = `
      const { Client } = await import('./${SSH_CLIENT}');
      const client = new Client();
      client.on('ready', () => client.exec('renew', (_error, channel) => channel.pipe(process.stdout)));
      client.connect({ host: '127.0.0.1', port: ${machine.port}, username: 'root', password: 'any' });`;
    const args = [...before, '--input-type=module', '--eval', script];
    const { stdout } = await run(program, args, { cwd: folder, env: { PATH: '/usr/bin:/bin' } });
    expect(stdout).toBe('renewed');
    machine.close();
  });

  test('lists its commands', async () => {
    expect((await start('--help')).stdout).toContain('Usage: gpu-rent');
  });

  test('keeps what was compiled in a folder of the user, and runs without one', async () => {
    const home = mkdtempSync(join(tmpdir(), 'home-'));
    const args = [bundle, '--help'];
    const { stdout } = await run(process.execPath, args, { env: { PATH: '/usr/bin:/bin', HOME: home } });
    expect(readdirSync(join(home, '.cache'))).toEqual(['gpu-rent-compiled']);
    const nowhere = { PATH: '/usr/bin:/bin', HOME: '/dev/null' };
    expect((await run(process.execPath, args, { env: nowhere })).stdout).toBe(stdout);
    rmSync(home, { recursive: true });
  });

  test('says what is missing where the operator finds no cluster', async () => {
    const failure = await start('operator', '--kubeconfig', '/does/not/exist').catch(
      (error: { stderr: string }) => error,
    );
    expect(failure.stderr).toContain('/does/not/exist');
    expect(failure.stderr).not.toContain('    at ');
  });

  test('runs the simulator and ends with SIGTERM', async () => {
    const [program, ...before] = restricted;
    const child = spawn(program, [...before, bundle, 'simulator', '--port', '0'], { cwd: folder });
    const [line] = await new Promise<[string]>((resolve) => {
      createInterface({ input: child.stdout }).once('line', (text) => resolve([text]));
    });
    const { url } = JSON.parse(line) as { url: string };
    expect((await fetch(`${url}/api/v0/users/current/`)).status).toBe(401);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});

describe('the package', () => {
  const PACKAGE = join(REPOSITORY, 'dist/package');
  let home = '';
  beforeAll(async () => {
    await run(process.execPath, [join(REPOSITORY, 'scripts/package.ts')], { cwd: REPOSITORY });
    home = mkdtempSync(join(tmpdir(), 'package-'));
  });
  afterAll(() => {
    rmSync(home, { recursive: true });
    rmSync(PACKAGE, { recursive: true });
  });

  test('holds the bundle and the definitions, and no source or secret', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json'], { cwd: PACKAGE });
    const [packed] = Object.values(JSON.parse(stdout) as Record<string, { files: { path: string }[] }>);
    const files = packed?.files.map(({ path }) => path) ?? [];
    expect(files).toEqual(
      expect.arrayContaining([
        ...PROGRAM_FILES.map(({ name }) => `dist/${name}`),
        'dist/client.mjs',
        'dist/simulator.mjs',
        'dist/types/client.d.ts',
        'dist/types/simulator.d.ts',
        'LICENSE',
        'README.md',
        'package.json',
      ]),
    );
    expect(files.filter((path) => path.startsWith('crds/'))).toHaveLength(definitions.length);
    expect(files.filter((path) => /^(src|test|scripts|node_modules|dist\/package)\//.test(path))).toEqual([]);
  });

  test('brings nothing with it: it is installed without a registry, and runs', async () => {
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', home], { cwd: PACKAGE });
    const options = ['--offline', '--global', '--prefix', home, '--cache', join(home, 'cache')];
    await run('npm', ['install', ...options, join(home, stdout.trim())], { cwd: home });
    expect(readdirSync(join(home, 'lib/node_modules'))).toEqual(['gpu-rental-operator']);
    expect(existsSync(join(home, 'lib/node_modules/gpu-rental-operator/node_modules'))).toBe(false);
    const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
    expect((await run(join(home, 'bin/gpu-rent'), ['version'])).stdout).toContain(version);
  });

  test('M6: its types need no other package', async () => {
    const consumer = join(home, 'consumer');
    mkdirSync(join(consumer, 'node_modules'), { recursive: true });
    symlinkSync(PACKAGE, join(consumer, 'node_modules', 'gpu-rental-operator'));
    writeFileSync(
      join(consumer, 'use.ts'),
      `import { packOnStart, type RentRequest } from 'gpu-rental-operator/client';
import { createSimulator } from 'gpu-rental-operator/simulator';
const packed = packOnStart('date');
export const request: RentRequest = { image: 'ubuntu', onStart: packed.type === 'tooLong' ? '' : packed.script };
export const key: string = createSimulator({}).apiKey;
// @ts-expect-error: types that could not be resolved would be any
export const wrong: number = createSimulator({}).apiKey;
`,
    );
    const types = join(REPOSITORY, 'node_modules', '@types');
    const options =
      '--noEmit --strict --preserveSymlinks --module nodenext --target es2024 --types node'.split(' ');
    const tsc = join(REPOSITORY, 'node_modules', '.bin', 'tsc');
    const args = [...options, '--typeRoots', types, 'use.ts'];
    await expect(run(tsc, args, { cwd: consumer })).resolves.toMatchObject({ stdout: '' });
  });

  test('is what the release publishes', () => {
    const workflow = readFileSync(join(REPOSITORY, '.github/workflows/release.yml'), 'utf8');
    expect(workflow.match(/npm publish .*$/gm)).toEqual([
      'npm publish ./dist/package --provenance --access public',
    ]);
  });

  test('passes publint', async () => {
    const publint = join(REPOSITORY, 'node_modules/publint/src/cli.js');
    const { stdout } = await run(process.execPath, [publint, '--strict', PACKAGE], { cwd: REPOSITORY });
    expect(stdout).toContain('All good!');
  });
});
