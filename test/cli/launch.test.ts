import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rowsOf } from '../../src/simulator/world/world-store.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* What runs in the container of a machine that a person rents. */

let bench: MarketplaceBench;
beforeAll(async () => {
  bench = await marketplaceBench();
});
afterAll(() => bench.close());

const contracts = () => rowsOf(bench.service.simulator.world().tables.contracts);

async function rent(...words: readonly string[]) {
  const before = new Set([...contracts()].map(({ id }) => id));
  const [offer] = await bench.offers();
  const ran = await bench.cli.run(['create', 'instance', String(offer), ...words]);
  return { ...ran, rented: [...contracts()].filter(({ id }) => !before.has(id)) };
}

describe('gpu-rent create instance (B18)', () => {
  test('gives everything behind --args to the image, options too', async () => {
    const { rented, stderr, exitCode } = await rent(
      ...['--image', 'x/y', '--args', '--model', 'a b', '--port', '8000', '--', '--image', 'z'],
    );
    expect(exitCode).toBe(0);
    expect(rented).toMatchObject([
      {
        image: 'x/y',
        runtype: 'args',
        args: ['--model', 'a b', '--port', '8000', '--', '--image', 'z'],
        onstart: null,
        ports: {},
      },
    ]);
    expect(stderr).toContain('Log: gpu-rent logs');
    expect(stderr).not.toContain('gpu-rent ssh');
  });

  test('runs the image as it was built when nothing is behind --args', async () => {
    expect((await rent('--image', 'x/y', '--args')).rented).toMatchObject([{ runtype: 'args', args: [] }]);
  });

  test('takes one word by --args=WORD, and its own options behind it', async () => {
    const { rented } = await rent('--image', 'x/y', '--args=serve', '--disk', '20');
    expect(rented).toMatchObject([{ runtype: 'args', args: ['serve'], diskGB: 20 }]);
  });

  test('warns of an option and its value in one word', async () => {
    const { rented, stderr } = await rent('--image', 'x/y', '--args=--model Q');
    expect(rented).toMatchObject([{ args: ['--model Q'] }]);
    expect(stderr).toContain('"--model Q" is one word with a blank.');
  });

  test('runs the command behind -- beside SSH', async () => {
    const { rented, stderr } = await rent('--image', 'x/y', '--direct', '--', 'python', "it's.py", '--args');
    expect(rented).toMatchObject([
      { runtype: 'ssh_direc ssh_proxy', args: [], onstart: `'python' 'it'\\''s.py' --args` },
    ]);
    expect(stderr).toContain('gpu-rent ssh');
  });

  test("accepts the form of --env of the marketplace's own documentation (B17)", async () => {
    const { rented } = await rent('--image', 'x/y', '--env', '-e A=b -p 8000:8000', '-p', '22/udp');
    expect(rented).toMatchObject([{ env: { A: 'b', '-p 8000:8000': '1', '-p 22:22/udp': '1' } }]);
  });

  test('opens an identity port with one number inside and outside (B15)', async () => {
    const { rented } = await rent('--image', 'x/y', '-p', '70000', '-p', '8000');
    expect(rented).toMatchObject([{ env: { '-p 70000:70000': '1', '-p 8000:8000': '1' } }]);
    const { '22/tcp': _ssh, '8000/tcp': _http, ...identity } = rented[0]?.ports ?? {};
    const [[inside, outside] = []] = Object.entries(identity);
    expect(inside).toBe(`${outside}/tcp`);
    expect(outside).toBeLessThan(65_536);
  });

  test('sends a script with LF line ends (B16)', async () => {
    const { rented } = await rent('--image', 'x/y', '--onstart-cmd', 'set -e\r\ndate\r\n');
    expect(rented).toMatchObject([{ onstart: 'set -e\ndate\n' }]);
  });

  test.each<[string, readonly string[], string]>([
    [
      'SSH beside --args',
      ['--ssh', '--args', 'x'],
      "--ssh and --args exclude each other: SSH needs the marketplace's",
    ],
    [
      'a script beside a command',
      ['--onstart-cmd', 'date', '--', 'x'],
      '--onstart and a command behind -- exclude',
    ],
    ['a command without --', ['python'], '"python" is an argument too many.'],
    [
      'args that are too long (M6)',
      ['--args', 'x'.repeat(4_097)],
      'script and args have 4097 bytes together',
    ],
    ['a flag of --env that it does not know (B17)', ['--env', '-v /a:/b'], '--env: "-v" is not understood'],
  ])('rents nothing for %s', async (_, words, says) => {
    const { rented, exitCode, stderr } = await rent('--image', 'x/y', ...words);
    expect(rented).toEqual([]);
    expect(exitCode).not.toBe(0);
    expect(stderr.replaceAll('\n', ' ')).toContain(says);
  });

  test('rents nothing for an image that no registry can serve (B02)', async () => {
    const { rented, exitCode, stderr } = await rent('--image', 'ghcr.io/Acme/Server:latest');
    expect({ rented, exitCode }).toEqual({ rented: [], exitCode: 2 });
    expect(stderr).toContain(
      '--image: "ghcr.io/Acme/Server:latest": write the path of the image in lower case: ghcr.io/acme/server:tag.',
    );
  });
});

describe('gpu-rent run', () => {
  const manifest = async (...words: readonly string[]) => {
    const { stdout, ...ran } = await bench.cli.run(['run', '--dry-run', '-o', 'json', ...words]);
    return { ...ran, spec: stdout === '' ? undefined : JSON.parse(stdout).spec };
  };

  test('writes everything behind --args into the manifest (B18)', async () => {
    const { spec } = await manifest(
      '--image',
      'x/y',
      '--env',
      '-e A=b -p 53:53/udp',
      '--args',
      '--model',
      'q',
    );
    expect(spec).toMatchObject({
      image: 'x/y',
      args: ['--model', 'q'],
      env: [{ name: 'A', value: 'b' }],
      ports: [{ containerPort: 53, protocol: 'UDP' }],
    });
    expect(spec).not.toHaveProperty('ssh');
  });

  test('refuses --rm beside --args, and images that no registry can serve (B02)', async () => {
    expect((await manifest('--image', 'x/y', '--rm', '--args')).stderr).toContain('--rm and --args exclude');
    expect((await manifest('--image', 'x/Y')).stderr).toContain('in lower case');
  });
});

describe('gpu-rent plan', () => {
  const plan = async (spec: string) => {
    const file = join(bench.cli.home, 'plan.yaml');
    const head = 'apiVersion: gpurental.dev/v1alpha1\nkind: GpuInstance\nmetadata: {name: x}\n';
    await writeFile(file, `${head}spec: {offers: [{maxPricePerHour: "9"}], ${spec}}\n`);
    return bench.cli.run(['plan', '-f', file, '--no-cluster']);
  };

  test('says that nothing runs in the container (B01)', async () => {
    const { stdout } = await plan('image: vllm/vllm-openai');
    expect(stdout).toContain(
      'In SSH mode the server of vllm/vllm-openai does not run. Write args: [--model, MODEL]',
    );
    expect((await plan('image: vllm/vllm-openai, args: []')).stdout).not.toContain('SSH mode');
  });

  test('rents nothing for a start that is too long (B01)', async () => {
    const long = Array.from({ length: 3 }, () => 'x'.repeat(2_000)).join(', ');
    const { exitCode, stdout } = await plan(`image: x/y, args: [${long}]`);
    expect(exitCode).toBe(3);
    expect(stdout).toContain('spec.args: script and args have 6002 bytes together, at most 4096 fit');
  });
});
