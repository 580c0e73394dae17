import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

const run = promisify(execFile);
const USER = '65532:65532';
const told = z.object({
  sha256: z.string(),
  digest: z.string(),
  sizes: z.array(z.object({ architecture: z.string(), unpacked: z.number() })),
});
const manifest = z.tuple([z.object({ Layers: z.array(z.string()), Config: z.string() })]);
const configuration = z.object({
  config: z.object({ User: z.string(), Env: z.array(z.string()), Entrypoint: z.array(z.string()) }),
});

async function makeImage() {
  const { stdout } = await run(process.execPath, [join(REPOSITORY, 'scripts/image.ts')], {
    env: { ...process.env, IMAGE_ENGINE: 'none' },
  });
  return told.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
}

let image: Awaited<ReturnType<typeof makeImage>>;
beforeAll(async () => {
  image = await makeImage();
}, 600_000);

test('two builds of one commit are the same bytes', async () => {
  expect(await makeImage()).toEqual(image);
}, 600_000);

test('no platform needs more than 130 MB', () => {
  expect(image.sizes.map(({ architecture }) => architecture)).toEqual(['amd64', 'arm64']);
  for (const { unpacked } of image.sizes) expect(unpacked).toBeLessThanOrEqual(130e6);
});

/** Namespaces of its own need root on Linux. */
describe.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')('a container of the image', () => {
  let folder = '';
  let entrypoint: readonly string[] = [];
  let environment: NodeJS.ProcessEnv = {};
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'image-'));
    const root = join(folder, 'root');
    mkdirSync(root);
    await run('tar', ['--extract', '--file', join(REPOSITORY, 'dist/image.tar'), '--directory', folder]);
    const [{ Layers, Config }] = manifest.parse(
      JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')),
    );
    for (const layer of Layers)
      await run('tar', ['--extract', '--gzip', '--file', join(folder, layer), '--directory', root]);
    for (const name of ['proc', 'sys']) mkdirSync(join(root, name));
    const { config } = configuration.parse(JSON.parse(readFileSync(join(folder, Config), 'utf8')));
    expect(config.User).toBe(USER);
    entrypoint = config.Entrypoint;
    environment = Object.fromEntries(config.Env.map((each) => each.split(/=(.*)/s).slice(0, 2)));
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /**
   * Starts a program in new mount and process namespaces, with a read-only root, as user `nobody`. `before`: shell
   * commands to run first.
   */
  function start(args: readonly string[], before = ':'): ChildProcess {
    const root = join(folder, 'root');
    const script = [
      before,
      `mount --bind ${root} ${root} && mount -o remount,bind,ro ${root}`,
      `mount -t proc proc ${root}/proc && mount --rbind /sys ${root}/sys`,
      `exec chroot --userspec=${USER} ${root} "$@"`,
    ].join('\n');
    const apart = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'];
    return spawn('unshare', [...apart, 'bash', '-euc', script, 'bash', ...args], {
      env: { ...environment, PATH: `${environment['PATH'] ?? ''}:${process.env['PATH'] ?? ''}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  async function ended(child: ChildProcess) {
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => (output += String(chunk)));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, output };
  }

  test('prints its version', async () => {
    const { version } = z
      .looseObject({ version: z.string() })
      .parse(JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')));
    const { code, output } = await ended(start([...entrypoint, 'version']));
    expect([code, output]).toEqual([0, expect.stringContaining(`gpu-rental-operator ${version} (Node `)]);
  }, 60_000);

  test('ends the simulator at once when it is asked to', async () => {
    const child = start([...entrypoint, 'simulator', '--port', '0']);
    const finished = ended(child);
    const { url } = z.object({ url: z.string() }).parse(JSON.parse(await firstLine(child)));
    expect((await fetch(`${url}/api/v0/users/current/`)).status).toBe(401);
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
    process.kill(Number(children.trim()), 'SIGTERM');
    expect((await finished).code).toBe(0);
  }, 60_000);

  test('says which cluster the operator misses', async () => {
    const { code, output } = await ended(start([...entrypoint, 'operator']));
    expect([code, output]).toEqual([expect.any(Number), expect.stringMatching(/cluster|kubeconfig/i)]);
    expect(code).not.toBe(0);
  }, 60_000);

  test('ends with a report of V8 when the heap grows towards the limit of the container', async () => {
    const limited = memoryLimit(256);
    const [node = '', flag = ''] = entrypoint;
    const leak = 'const kept = []; for (;;) kept.push(new Array(1e5).fill(Math.random()).map(String));';
    const { code, output } = await ended(start([node, flag, '--eval', leak], limited.join));
    limited.remove();
    expect(output).toContain('JavaScript heap out of memory');
    expect(code).not.toBe(137);
  }, 120_000);
});

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('the output of the process is not read');
  const [line] = await once(createInterface({ input: stdout }), 'line');
  return z.string().parse(line);
}

/** Creates a cgroup of version 1 or 2 with that limit in mebibytes. */
function memoryLimit(mebibytes: number): { readonly join: string; readonly remove: () => void } {
  const isV1 = readFileSync('/proc/mounts', 'utf8').includes('/sys/fs/cgroup/memory ');
  const group = join(isV1 ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup', `image-test-${process.pid}`);
  mkdirSync(group);
  writeFileSync(join(group, isV1 ? 'memory.limit_in_bytes' : 'memory.max'), String(mebibytes << 20));
  return {
    join: `echo $$ > ${group}/cgroup.procs`,
    remove: () => rmdirSync(group),
  };
}
