import { withStartFiles } from '../machine-files.ts';
import type { Settings } from '../settings.ts';
import type { Contract, Transition } from '../tables/contracts.ts';
import type { Machine, Offer } from '../tables/market.ts';
import { between, chance } from '../world/chance.ts';
import type { World } from '../world/world.ts';
import { rowsOf } from '../world/world-store.ts';
import { openedPorts } from './container-options.ts';
import { startProgram } from './run-program.ts';

/*
 * Boot of a machine (specification 3.1): null, perhaps `created`, `loading` while the image is pulled, `running`.
 * PURE.
 */

/** Returns the seconds to pull an image on a machine; the same machine pulls the same image in the same time. */
export function pullSeconds(settings: Settings, seed: number, machine: Machine): number {
  const [shortest, longest] = settings.boot.pullSeconds;
  return between(shortest, longest, chance(seed, machine.id, 1)) * machine.pullFactor * settings.boot.scale;
}

/** Returns the transitions of a new contract until it runs. */
export function bootTimeline(options: {
  settings: Settings;
  seed: number;
  machine: Machine;
  now: number;
}): readonly Transition[] {
  const { settings, seed, machine, now } = options;
  const provisionMs = settings.boot.provisionSeconds * settings.boot.scale * 1000;
  const loadingAt = now + provisionMs;
  const runningAt = loadingAt + pullSeconds(settings, seed, machine) * 1000;
  const created: readonly Transition[] = settings.boot.showCreated
    ? [{ at: now + provisionMs / 2, status: 'created' }]
    : [];
  return [...created, { at: loadingAt, status: 'loading' }, { at: runningAt, status: 'running' }];
}

/** Returns the transitions of a stopped machine that starts: the image is present, so they are short. */
export function startTimeline(settings: Settings, now: number): readonly Transition[] {
  return [
    { at: now, status: 'loading' },
    { at: now + settings.boot.startSeconds * settings.boot.scale * 1000, status: 'running' },
  ];
}

/** Returns the transitions of a reboot: `rebooting`, then `running`. */
export function rebootTimeline(settings: Settings, now: number): readonly Transition[] {
  return [
    { at: now, status: 'rebooting' },
    { at: now + settings.boot.rebootSeconds * settings.boot.scale * 1000, status: 'running' },
  ];
}

/** Returns the time at which the service starts a container again that exits now; null if it never does. */
export function restartsAt({ containers, boot }: Settings, now: number): number | null {
  if (!containers.exitedRestarts || boot.lostForGood) return null;
  return now + boot.rebootSeconds * boot.scale * 1000;
}

/** Returns the transitions of a container that crashes at that time. */
export function crashTimeline(settings: Settings, at: number): readonly Transition[] {
  const restart = restartsAt(settings, at);
  const exit: Transition = { at, status: 'exited', message: CRASH_MESSAGE };
  return restart === null ? [exit] : [exit, { at: restart, status: 'running' }];
}

/** Text in `status_msg` after a fault crashed a container. */
export const CRASH_MESSAGE = 'container exited with code 1';

/** Returns the contract after every transition that is due at `now`. */
export function passTransitions(contract: Contract, now: number, settings: Settings): Contract {
  const due = contract.timeline.filter((transition) => transition.at <= now);
  const last = due.at(-1);
  if (!last) return contract;
  const passed: Contract = {
    ...contract,
    actualStatus: last.status,
    statusMessage: last.message ?? null,
    statusSince: last.at,
    timeline: contract.timeline.slice(due.length),
  };
  return startProgram(withStartFiles(passed, settings), settings);
}

/**
 * Returns the status that a list shows: that of the machine while it is not up, else the contract's own. A dead machine
 * is shown as disconnected.
 */
export function shownStatus(contract: Contract, machine: Machine | undefined): string | null {
  if (!machine || machine.state === 'up') return contract.actualStatus;
  return machine.state === 'unknown' ? 'unknown' : 'offline';
}

/** Returns the progress text in `status_msg`. A healthy boot uses no word for an error. */
export function statusMessage(contract: Contract, now: number): string | null {
  if (contract.statusMessage !== null) return contract.statusMessage;
  if (contract.actualStatus === 'running') return `success, running ${contract.image}`;
  if (contract.actualStatus !== 'loading') return null;
  const end = contract.timeline.find((transition) => transition.status === 'running')?.at;
  if (end === undefined) return `${contract.image}: Pulling from registry`;
  const share = Math.max(0, Math.min(1, (now - contract.statusSince) / (end - contract.statusSince || 1)));
  if (share < 0.05) return `${contract.image}: Pulling from registry`;
  return `Downloading layers: ${Math.floor(share * 100)}% complete`;
}

/* Host ports of a machine: unique over the whole market, so that loopback can represent it. PURE. */

/** Returns the container ports that a rental opens on a machine with direct ports. */
export function containerPorts(runtype: string, env: Readonly<Record<string, string>>): readonly string[] {
  const ports = new Set<string>(runtype === 'args' ? [] : ['22/tcp']);
  if (runtype.includes('jupyter')) ports.add('8080/tcp');
  for (const port of openedPorts(env)) ports.add(port);
  return [...ports];
}

/** First number that no container port has: the service opens such a port with the same number inside and outside. */
const MIN_IDENTITY_PORT = 70_000;

function containerSide(port: string, hostPort: number): string {
  const [number = '', protocol] = port.split('/');
  return Number(number) < MIN_IDENTITY_PORT ? port : `${hostPort}/${protocol}`;
}

/** Returns the host ports by container port; empty if the machine has no direct ports. */
export function assignPorts(
  world: World,
  requested: readonly string[],
  offer: Offer,
): Pick<Contract, 'ports' | 'sshPort'> {
  const free = freePorts(world, requested.length + 1);
  const [sshPort = world.settings.addresses.portBase, ...rest] = free;
  if (offer.columns.direct_port_count === 0) return { ports: {}, sshPort };
  const others = requested.filter((port) => port !== '22/tcp');
  const ports = Object.fromEntries(
    others.map((port, index) => {
      const hostPort = rest[index] ?? 0;
      return [containerSide(port, hostPort), hostPort] as const;
    }),
  );
  return requested.includes('22/tcp')
    ? { ports: { '22/tcp': sshPort, ...ports }, sshPort }
    : { ports, sshPort };
}

/**
 * Returns the next ports that no live contract uses, in rotation, so that none is reused at once; shared when all are
 * in use.
 */
function freePorts(world: World, count: number): readonly number[] {
  const { portBase, portCount } = world.settings.addresses;
  const taken = new Set<number>();
  for (const contract of rowsOf(world.tables.contracts)) {
    taken.add(contract.sshPort);
    for (const port of Object.values(contract.ports)) taken.add(port);
  }
  const start = ((world.counters.contract ?? 0) * 7) % portCount;
  const found: number[] = [];
  for (let step = 0; step < portCount && found.length < count; step += 1) {
    const port = portBase + ((start + step) % portCount);
    if (!taken.has(port)) found.push(port);
  }
  while (found.length < count) found.push(portBase + ((start + found.length) % portCount));
  return found;
}
