import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  type ContainerRuntimeClient,
  type GenericContainer,
  getContainerRuntimeClient,
} from 'testcontainers';
import { readTar } from '../../scripts/image/debian-archive.ts';
import { tarOf } from '../../scripts/image/oci.ts';
import { randomId, SESSION_LABEL, sessionImage } from './session-names.ts';

/** A user-defined network, in which containers find each other by their names. */
export interface SessionNetwork {
  readonly name: string;
  /** The engine's own address in it. */
  readonly gateway: string;
}

/**
 * Resources of a test in a Docker engine. None of them outlives `close` or this process, however it ends: a separate
 * process removes them. testcontainers has a container for that (Ryuk), which would have to be pulled.
 */
export interface EngineSession {
  readonly client: ContainerRuntimeClient;
  /** Makes the container one of this session; call it before `start`. */
  own<Container extends GenericContainer>(container: Container): Container;
  createNetwork(): Promise<SessionNetwork>;
  /** Loads the image of an archive under a name of this session, so that no image of the user changes its name. */
  loadImage(archivePath: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * Returns the Docker engine that testcontainers finds (DOCKER_HOST, the context, the usual sockets), if one answers.
 */
export async function findEngine(): Promise<ContainerRuntimeClient | undefined> {
  return getContainerRuntimeClient().catch(() => undefined);
}

/** Advice if {@link findEngine} finds nothing. */
export const ENGINE_NEEDED =
  'a Docker engine that answers (DOCKER_HOST or its usual socket), or root on Linux and what this installs: apt-get install docker.io';

const CLEANER = join(import.meta.dirname, 'cleaner.ts');

export async function openEngineSession(client: ContainerRuntimeClient): Promise<EngineSession> {
  const id = randomId();
  const labels = { [SESSION_LABEL]: id };
  const { dockerode } = client.container;
  // Detached: a Ctrl-C that ends the tests must not end it.
  const cleaner = fork(CLEANER, [id], {
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await Promise.race([once(cleaner, 'message'), rejectOnExit(cleaner)]);
  return {
    client,
    own: (container) => container.withLabels(labels).withAutoCleanup(false),
    async createNetwork() {
      const network = await dockerode.createNetwork({ Name: `gpu-rental-${id}`, Labels: labels });
      const { Name: name, IPAM } = await network.inspect();
      return { name, gateway: IPAM?.Config?.find(({ Gateway }) => Gateway)?.Gateway ?? '' };
    },
    async loadImage(archivePath) {
      const reference = sessionImage(id);
      const archive = await renamed(readFileSync(archivePath), reference);
      const reply = await text(await dockerode.loadImage(Readable.from([archive])));
      if (!reply.includes(reference)) throw new Error(`${archivePath} could not be loaded: ${reply.trim()}`);
      return reference;
    },
    async close() {
      if (cleaner.exitCode !== null || cleaner.signalCode !== null) return;
      const ended = once(cleaner, 'exit');
      cleaner.disconnect();
      await ended;
    },
  };
}

async function rejectOnExit(cleaner: ChildProcess): Promise<never> {
  const [code] = await once(cleaner, 'exit');
  throw new Error(`The process that would clean up ended at once (${code}).`);
}

/** Returns the archive with another name for its image, which Docker and containerd read from different files. */
async function renamed(archive: Buffer, reference: string): Promise<Buffer> {
  const entries = await readTar(archive);
  const manifest = entries.find(({ path }) => path === 'manifest.json')?.content.toString() ?? '';
  const [, before] = /"RepoTags":\["([^"]+)"\]/.exec(manifest) ?? [];
  if (before === undefined) throw new Error('This is not an archive of one image with a name.');
  return tarOf(
    entries.map((entry) =>
      ['manifest.json', 'index.json'].includes(entry.path)
        ? { ...entry, content: entry.content.toString().replaceAll(before, reference) }
        : entry,
    ),
  );
}
