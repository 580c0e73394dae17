import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ContainerRuntimeClient } from 'testcontainers';
import { beforeAll, describe, expect, test } from 'vitest';
import { operatorImage } from '../image/operator-image.ts';
import { findEngine } from './engine.ts';
import { SESSION_LABEL } from './session-names.ts';

const SOON = { timeout: 30_000, interval: 100 };
const HERE = import.meta.dirname;

/** A process that has a container that runs, a network, a volume and an image, and then does what it is asked to. */
const OWNER = `
  const { findEngine, openEngineSession } = await import('${join(HERE, 'engine.ts')}');
  const { OperatorContainer } = await import('${join(HERE, 'operator-container.ts')}');
  const session = await openEngineSession(await findEngine());
  const { name } = await session.createNetwork();
  const image = await session.loadImage(process.env.ARCHIVE);
  await session.own(new OperatorContainer(image)).withNetworkMode(name).withCommand(['simulator']).start();
  console.log('ready');
  process.stdin.resume().once('end', () => session.close().then(() => process.exit()));`;

const client = await findEngine();

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

describe.skipIf(client === undefined)('a session of a Docker engine', () => {
  if (client === undefined) return;
  let archive = '';
  beforeAll(async () => {
    archive = await operatorImage();
  });

  test.for(['closes it', 'is killed'] as const)(
    'leaves nothing in the engine when its process %s',
    async (end) => {
      const before = await tracesIn(client);
      const owner = spawn(process.execPath, ['--input-type=module', '--eval', OWNER], {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { ...process.env, ARCHIVE: archive },
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
