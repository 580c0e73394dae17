/**
 * Runs beside a process that uses a Docker engine, in a process group of its own. When the channel to that process
 * closes, whatever ended it, it removes the containers, volumes, networks and the image of the session it was given.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { getContainerRuntimeClient } from 'testcontainers';
import { SESSION_LABEL, sessionImage } from './session-names.ts';

const [id = ''] = process.argv.slice(2);
const LIMIT_MS = 60_000;
const POLL_MS = 200;
/**
 * Number of consecutive empty lists: a container that was being created when its creator was killed appears after the
 * first one.
 */
const EMPTY_LISTS = 2;

const { dockerode } = (await getContainerRuntimeClient()).container;
const filters = { label: [`${SESSION_LABEL}=${id}`] };

/** Removes everything. Returns the number of items. */
async function removeAll(): Promise<number> {
  const containers = await dockerode.listContainers({ all: true, filters });
  // It waits for none of them to end.
  await Promise.allSettled(
    containers.map(({ Id }) => dockerode.getContainer(Id).remove({ force: true, v: true })),
  );
  const networks = await dockerode.listNetworks({ filters });
  await Promise.allSettled(networks.map(({ Id }) => dockerode.getNetwork(Id).remove()));
  const reference = sessionImage(id);
  const images = await dockerode.listImages({ filters: { reference: [reference] } });
  if (images.length > 0) await dockerode.getImage(reference).remove({ force: true });
  return containers.length + networks.length + images.length;
}

async function clean(): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  for (let empty = 0; empty < EMPTY_LISTS && performance.now() < deadline; await sleep(POLL_MS))
    empty = (await removeAll()) === 0 ? empty + 1 : 0;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.once('disconnect', () => {
  clean().then(
    () => process.exit(0),
    (error) => {
      process.stderr.write(`What the tests made in the Docker engine may be left there: ${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.send?.('ready');
