import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ContainerRuntimeClient } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { imageArchive } from '../../scripts/image/oci.ts';
import type {} from '../cluster/provided-context.ts';
import { findEngine } from './engine.ts';
import { SESSION_LABEL } from './session-names.ts';

const SOON = { timeout: 30_000, interval: 100 };
const HERE = import.meta.dirname;

/** Process with a running container, a network, a volume and an image, which then executes a command. */
const OWNER = `
  const { findEngine, openEngineSession } = await import('${join(HERE, 'engine.ts')}');
  const { OperatorContainer } = await import('${join(HERE, 'operator-container.ts')}');
  const session = await openEngineSession(await findEngine());
  const { name } = await session.createNetwork();
  await session.loadImage(process.env.ARCHIVE);
  await session.own(new OperatorContainer(process.env.IMAGE)).withNetworkMode(name).withCommand(['simulator']).start();
  console.log('ready');
  process.stdin.resume().once('end', () => session.close().then(() => process.exit()));`;

async function tracesIn({ container: { dockerode } }: ContainerRuntimeClient): Promise<string[]> {
  const filters = { label: [SESSION_LABEL] };
  const [containers, networks, images, { Volumes }] = await Promise.all([
    dockerode.listContainers({ all: true, filters }),
    dockerode.listNetworks({ filters }),
    dockerode.listImages(),
    dockerode.listVolumes(),
  ]);
  return [
    ...[...containers, ...networks].map(({ Id }) => Id),
    ...images.flatMap(({ RepoTags }) => RepoTags ?? []),
    ...Volumes.map(({ Name }) => Name),
  ].toSorted();
}

/** Returns an image with a single small file, which loads quickly. */
async function smallArchive(folder: string): Promise<string> {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const layers = [[{ path: 'file', mode: 0o644, content: 'x' }]];
  const options = { reference: 'localhost/small:1', createdAt: 0, main: architecture } as const;
  const { archive } = await imageArchive([{ architecture, layers, config: {} }], options);
  writeFileSync(join(folder, 'small.tar'), archive);
  return join(folder, 'small.tar');
}

describe.skipIf(inject('operatorImage') === null)('a session of a Docker engine', () => {
  let folder = '';
  let client: ContainerRuntimeClient;
  beforeAll(async () => {
    const found = await findEngine();
    if (found === undefined) throw new Error('The Docker engine has gone.');
    client = found;
    folder = mkdtempSync(join(tmpdir(), 'engine-'));
  });
  afterAll(() => folder && rmSync(folder, { recursive: true, force: true }));

  test.for(['closes it', 'is killed'] as const)(
    'leaves nothing in the engine when its process %s',
    async (end) => {
      const before = await tracesIn(client);
      const owner = spawn(process.execPath, ['--input-type=module', '--eval', OWNER], {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { ...process.env, ARCHIVE: await smallArchive(folder), IMAGE: inject('operatorImage') ?? '' },
      });
      await once(createInterface({ input: owner.stdout }), 'line');
      expect((await tracesIn(client)).length).toBe(before.length + 4);
      const ended = once(owner, 'exit');
      if (end === 'is killed') owner.kill('SIGKILL');
      else owner.stdin.end();
      await ended;
      if (end === 'closes it') expect(await tracesIn(client)).toEqual(before);
      await expect.poll(() => tracesIn(client), SOON).toEqual(before);
    },
  );
});
