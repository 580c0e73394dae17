import type { Settings } from '../settings.ts';
import type { Contract, Transition } from '../tables/contracts.ts';
import type { Machine } from '../tables/machines.ts';
import { between, chance } from '../world/chance.ts';

/*
 * How a machine comes up (specification 3.1): null, perhaps `created`, `loading` while the image is
 * pulled, `running`. PURE.
 */

/** Seconds that an image takes on a machine; the same machine pulls the same image in the same time. */
export function pullSeconds(settings: Settings, seed: number, machine: Machine): number {
  const [shortest, longest] = settings.boot.pullSeconds;
  return between(shortest, longest, chance(seed, machine.id, 1)) * machine.pullFactor * settings.boot.scale;
}

/** Everything that a fresh contract goes through until it runs. */
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

/** A stopped machine comes up again: the image is there, so this is short. */
export function startTimeline(settings: Settings, now: number): readonly Transition[] {
  return [
    { at: now, status: 'loading' },
    { at: now + settings.boot.startSeconds * settings.boot.scale * 1000, status: 'running' },
  ];
}

/** A reboot: `rebooting`, then `running`. */
export function rebootTimeline(settings: Settings, now: number): readonly Transition[] {
  return [
    { at: now, status: 'rebooting' },
    { at: now + settings.boot.rebootSeconds * settings.boot.scale * 1000, status: 'running' },
  ];
}

/** The contract after everything that is due at `now` has happened to it. */
export function passTransitions(contract: Contract, now: number): Contract {
  const due = contract.timeline.filter((transition) => transition.at <= now);
  const last = due.at(-1);
  if (!last) return contract;
  return {
    ...contract,
    actualStatus: last.status,
    statusMessage: last.message ?? null,
    statusSince: last.at,
    timeline: contract.timeline.slice(due.length),
  };
}

/**
 * The word that a list shows: the state of the machine while it is not up, else the contract's own.
 * A dead machine reads as disconnected.
 */
export function shownStatus(contract: Contract, machine: Machine | undefined): string | null {
  if (!machine || machine.state === 'up') return contract.actualStatus;
  return machine.state === 'unknown' ? 'unknown' : 'offline';
}

/** Progress that a person sees in `status_msg`. A healthy boot uses no word for an error. */
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
