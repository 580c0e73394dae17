import type { ActualStatus } from '../../marketplace/instances/instance.ts';

/**
 * Whether mass replacement and sweeps are frozen for an account. Never freezes a deletion that a person
 * asked for.
 */
export type BreakerState =
  | { readonly type: 'closed' }
  | {
      readonly type: 'open';
      /** Epoch milliseconds. */
      readonly since: number;
      readonly cause: 'massFailure' | 'listFailed';
      /** Machines that newly turned bad or vanished in the poll that opened it; 0 where the list failed. */
      readonly newlyBad: number;
      readonly message: string;
    };

/** What is remembered from one poll to the next. */
export interface BreakerMemory {
  readonly state: BreakerState;
  /** Machines that were well in the latest complete list. Only these can newly turn bad. */
  readonly well: ReadonlySet<number>;
  /** Complete polls in a row in which nothing newly turned bad. */
  readonly calmPolls: number;
}

/** One look at the marketplace, as far as the breaker is concerned. */
export type BreakerPoll =
  | {
      readonly type: 'complete';
      readonly at: number;
      /** Ids that living objects of the account hold and that this process did not destroy. */
      readonly expected: ReadonlySet<number>;
      readonly rows: ReadonlyMap<number, { readonly actualStatus: ActualStatus }>;
    }
  | { readonly type: 'failed'; readonly at: number };

const LEAST_MASS = 3;
const CALM_POLLS_TO_CLOSE = 2;
const BAD: ReadonlySet<string> = new Set([
  'exited',
  'unknown',
  'offline',
  'destroyed',
] satisfies ActualStatus[]);

/** Before the first poll of a process: what the account's status said, so that a restart forgets nothing. */
export function breakerAtStart(state: BreakerState): BreakerMemory {
  return { state, well: new Set(), calmPolls: 0 };
}

/**
 * At the first list of a process: these were well by what stands on record. What turned bad since then did so in one poll,
 * as far as anybody saw, be it in an outage that no process has lived through.
 */
export function wellOnRecord(memory: BreakerMemory, well: ReadonlySet<number>): BreakerMemory {
  return { ...memory, well };
}

/** Whether a machine that shows this word counts as well. */
export function isWellWord(word: string | null): boolean {
  return word === null || !BAD.has(word);
}

/**
 * Opens when a complete list shows more newly bad or vanished machines than allowed, or when the list fails;
 * closes after two complete lists with none newly bad.
 */
export function afterPoll(
  memory: BreakerMemory,
  poll: BreakerPoll,
  maxUnhealthy: number | string,
): BreakerMemory {
  if (poll.type === 'failed') return listFailed(memory, poll.at);
  const well = wellOf(poll);
  const newlyBad = [...memory.well].filter((id) => poll.expected.has(id) && !well.has(id)).length;
  const allowed = allowedUnhealthy(maxUnhealthy, poll.expected.size);
  if (newlyBad > allowed) {
    return { state: massFailure(memory.state, poll, { newlyBad, allowed }), well, calmPolls: 0 };
  }
  const calmPolls = newlyBad === 0 ? memory.calmPolls + 1 : 0;
  const state = calmPolls >= CALM_POLLS_TO_CLOSE ? { type: 'closed' as const } : memory.state;
  return { state, well, calmPolls };
}

/** A person has looked and wants it closed now. What is bad at this moment is no news any more. */
export function closeByHand(memory: BreakerMemory): BreakerMemory {
  return { ...memory, state: { type: 'closed' }, calmPolls: CALM_POLLS_TO_CLOSE };
}

/** How many machines may newly turn bad in one poll: never fewer than 3, a share is rounded up. */
export function allowedUnhealthy(maxUnhealthy: number | string, machines: number): number {
  const share = typeof maxUnhealthy === 'string' ? /^(\d{1,3})%$/.exec(maxUnhealthy) : null;
  const wanted = share ? Math.ceil((Number(share[1]) * machines) / 100) : Number(maxUnhealthy);
  return Math.max(LEAST_MASS, Number.isFinite(wanted) ? wanted : 0);
}

function wellOf(poll: Extract<BreakerPoll, { type: 'complete' }>): ReadonlySet<number> {
  const isWell = (id: number) => {
    const row = poll.rows.get(id);
    return row !== undefined && isWellWord(row.actualStatus);
  };
  return new Set([...poll.expected].filter(isWell));
}

function listFailed(memory: BreakerMemory, at: number): BreakerMemory {
  if (memory.state.type === 'open') return { ...memory, calmPolls: 0 };
  const message = 'The list of machines failed; nothing is replaced or swept until two lists were complete.';
  const state: BreakerState = { type: 'open', since: at, cause: 'listFailed', newlyBad: 0, message };
  return { ...memory, state, calmPolls: 0 };
}

function massFailure(
  before: BreakerState,
  poll: Extract<BreakerPoll, { type: 'complete' }>,
  { newlyBad, allowed }: { readonly newlyBad: number; readonly allowed: number },
): BreakerState {
  const since = before.type === 'open' && before.cause === 'massFailure' ? before.since : poll.at;
  const message =
    `${newlyBad} of ${poll.expected.size} machines turned bad or vanished in one poll, ` +
    `${allowed} are allowed; nothing is replaced or swept.`;
  return { type: 'open', since, cause: 'massFailure', newlyBad, message };
}
