import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { AdminClient } from '../admin-client.ts';
import type { NodeConnection } from '../connection.ts';

const run = promisify(execFile);

export interface ContainerName {
  readonly namespace: string;
  readonly pod: string;
  /** Default: the first of the Pod. */
  readonly container?: string;
}

/** Operations on a node for which there is no API. */
export interface NodeAccess {
  /** Address of this machine, as Pods see it; a server that listens on all addresses is reachable there. */
  readonly hostAddress: string;
  /** Gives the node the images of an OCI or Docker archive. Rejects with what the importing program writes. */
  importImage(archivePath: string): Promise<void>;
  /**
   * Makes the node pull that registry's images from this address, by plain HTTP if the URL says so. Throws if the
   * node belongs to others.
   */
  reachRegistry(host: string, url: string): void;
  /**
   * Returns the process IDs of a running container on this machine, oldest first: that is its main process. Rejects
   * if container processes are not processes of this machine, or if the container does not run.
   */
  processIdsOf(container: ContainerName): Promise<number[]>;
}

const runningPod = z.object({
  status: z.object({
    containerStatuses: z
      .array(
        z.object({
          name: z.string(),
          containerID: z.string().optional(),
          state: z.looseObject({ running: z.object({}).optional() }),
        }),
      )
      .default([]),
  }),
});

async function readContainerId(
  admin: AdminClient,
  { namespace, pod, container }: ContainerName,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}`;
  const { status } = runningPod.parse((await admin.request({ method: 'GET', path })).body);
  const found = status.containerStatuses.find(({ name }) => container === undefined || name === container);
  // Such as containerd://0f3a…
  const id = found?.state.running && found.containerID?.split('://')[1];
  if (!id) throw new Error(`${namespace}/${pod}: ${container ?? 'no container'} does not run.`);
  return id;
}

/** Returns the start time of a process, in clock ticks since boot. */
function startTimeOf(pid: number): number {
  // The second field is a name in brackets, which may hold spaces and brackets; the 22nd is the time.
  const rest = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '';
  return Number(rest.split(' ')[19]);
}

/** Returns the result; undefined if the process ended during the read. */
function ifThere<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function processIdsIn(containerId: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => ifThere(() => readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.includes(containerId))
    .map((pid) => ({ pid, startedAt: ifThere(() => startTimeOf(pid)) ?? Number.POSITIVE_INFINITY }))
    .toSorted((one, other) => one.startedAt - other.startedAt || one.pid - other.pid)
    .map(({ pid }) => pid);
}

export function accessNode(admin: AdminClient, connection: NodeConnection): NodeAccess {
  return {
    hostAddress: connection.hostAddress,
    async importImage(archivePath) {
      const [program = '', ...args] = connection.importCommand;
      await run(program, [...args, archivePath], { maxBuffer: 1 << 24 }).catch(
        (error: Error & { stderr?: string }) => {
          throw new Error(`${archivePath} could not be imported: ${error.stderr?.trim() || error.message}`);
        },
      );
    },
    reachRegistry(host, url) {
      const { registriesFolder } = connection;
      if (registriesFolder === undefined)
        throw new Error('How this cluster’s nodes reach registries is not set up here.');
      const folder = join(registriesFolder, host);
      mkdirSync(folder, { recursive: true });
      const capabilities = '  capabilities = ["pull", "resolve"]';
      writeFileSync(join(folder, 'hosts.toml'), `server = "${url}"\n[host."${url}"]\n${capabilities}\n`);
    },
    async processIdsOf(container) {
      if (!connection.sharesProcesses)
        throw new Error('The processes of this cluster’s containers are not processes of this machine.');
      const found = processIdsIn(await readContainerId(admin, container));
      if (found.length === 0) throw new Error(`${container.namespace}/${container.pod} has no process here.`);
      return found;
    },
  };
}
