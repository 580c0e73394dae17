import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { isLost, isUnseen } from '../instance/machine-state.ts';
import { counted } from '../lib/plural.ts';
import type { MachineRow } from '../market/machine.ts';

/**
 * State of the breaker, which freezes mass replacement and sweeps of an account. It never freezes a deletion that a
 * person requested.
 */
export type BreakerState =
  | { readonly type: 'closed' }
  | {
      readonly type: 'open';
      /** Epoch milliseconds. */
      readonly since: number;
      /** `massEnds`: many machines would end at once by limit, price, drift or idleness. */
      readonly cause: 'massFailure' | 'massEnds' | 'listFailed';
      /** Maximum number of machines that were bad, missing or about to end at a time; 0 if the list failed. */
      readonly unhealthy: number;
      readonly message: string;
    }
  | {
      /**
       * Machines are still bad, but the maximum hold has passed or a person has confirmed. They are replaced one at a
       * time.
       */
      readonly type: 'slow';
      /** Epoch milliseconds at which the breaker opened. */
      readonly since: number;
      /** Epoch milliseconds at which it was released. */
      readonly releasedAt: number;
      readonly releasedBy: 'hold' | 'person';
      readonly unhealthy: number;
      readonly message: string;
      /** Uid of the one object whose machine may be replaced now; undefined while another replacement is under way. */
      readonly turn: string | undefined;
    };

/** Period in which more machines are bad than the account tolerates, until the second calm poll. */
interface Incident {
  /** Epoch milliseconds. */
  readonly since: number;
  /** Monotonic milliseconds. */
  readonly sinceMonotonic: number;
  readonly released: { readonly by: 'hold' | 'person'; readonly at: number } | undefined;
  /** Maximum number of affected machines at a time, out of `machines`. */
  readonly unhealthy: number;
  readonly machines: number;
  /** True if their number never exceeded the limit, but they turned unhealthy one after the other. */
  readonly isCreeping: boolean;
  /** True if working machines would end at the same time by limit, price, drift or idleness. */
  readonly isByEnds: boolean;
}

/** The last change of an object's machine between well and unhealthy. */
interface Turn {
  /** Monotonic milliseconds of the poll that showed it. */
  readonly at: number;
  readonly isUnhealthy: boolean;
}

/** State that is kept from one poll to the next. */
export interface BreakerMemory {
  readonly incident: Incident | undefined;
  /** Epoch milliseconds of the first failed list since two lists in a row were complete. */
  readonly listFailedSince: number | undefined;
  /** Complete polls in a row in which no more machines were bad than the account tolerates. */
  readonly calmPolls: number;
  /** Complete polls in a row. */
  readonly completePolls: number;
  /** Ids of machines that were unhealthy in the last complete poll. */
  readonly unhealthy: ReadonlySet<string>;
  /** Recent changes by UID of the object, so that an object that loses machine after machine counts once. */
  readonly turns: ReadonlyMap<string, Turn>;
}

/** Figures of one poll that the breaker reads. */
export type BreakerPoll =
  | {
      readonly type: 'complete';
      /** Epoch milliseconds. */
      readonly at: number;
      /** Monotonic milliseconds. */
      readonly monotonic: number;
      /** Desired machines of the account's objects that lists have shown: UID of the object by ID of the machine. */
      readonly expected: ReadonlyMap<string, string>;
      readonly rows: ReadonlyMap<string, Pick<MachineRow, 'state'>>;
      /** Number of machines of the account that are due to end by limit, price, drift or idleness. */
      readonly ending: number;
    }
  | { readonly type: 'failed'; readonly at: number };

/** Settings of the breaker, from the spec of an account. */
export interface BreakerSettings {
  /** A count, or a share such as `20%`. */
  readonly maxUnhealthy: number | string;
  /** Milliseconds after which replacement continues slowly although the breaker is open. */
  readonly maxHoldMs: number;
}

/** Polls in a row that have to agree. */
const POLLS_TO_CLOSE = 2;
/** Machines that change within this time change together. */
const TOGETHER_MS = 120_000;
/** Number of machines that may reach a limit together by chance. */
const MAX_ENDS = 3;
/** In a large fleet more than these change together because of something that they share. */
const MAX_TURNS = 5;

/**
 * Returns the memory before the first poll of a process, from the account's status: a restart neither closes the
 * breaker nor withdraws its release.
 */
export function breakerAtStart(
  state: BreakerState,
  clock: { readonly now: number; readonly monotonic: number },
): BreakerMemory {
  if (state.type === 'closed') return CLOSED;
  if (state.type === 'open' && state.cause === 'listFailed') return afterFailure(CLOSED, state.since);
  const { since, unhealthy } = state;
  const released = state.type === 'slow' ? { by: state.releasedBy, at: state.releasedAt } : undefined;
  const sinceMonotonic = clock.monotonic - Math.max(0, clock.now - since);
  return {
    ...CLOSED,
    incident: {
      since,
      sinceMonotonic,
      released,
      unhealthy,
      machines: unhealthy,
      isCreeping: false,
      isByEnds: false,
    },
  };
}

const CLOSED: BreakerMemory = {
  incident: undefined,
  listFailedSince: undefined,
  calmPolls: 0,
  completePolls: 0,
  unhealthy: new Set(),
  turns: new Map(),
};

/** Returns the state for this memory. `turn`: the object whose replacement continues, if replacement is slow. */
export function breakerState(memory: BreakerMemory, turn?: string): BreakerState {
  const { incident, listFailedSince } = memory;
  if (incident && !incident.released) return massFailure(incident);
  if (listFailedSince !== undefined) return listFailure(listFailedSince);
  return incident?.released ? slow(incident, incident.released, turn) : { type: 'closed' };
}

/** Returns true until a person confirms, also while machines are replaced slowly after the maximum hold. */
export function isUnresolved(state: BreakerState): boolean {
  return state.type === 'open' || (state.type === 'slow' && state.releasedBy === 'hold');
}

/**
 * Returns the memory after a poll. The breaker is open while a complete list shows more bad or vanished machines than
 * allowed, while the list fails, and while machines keep turning bad or recovering. It closes after two consecutive
 * complete lists that show none of this. After the maximum hold replacement continues slowly.
 */
export function afterPoll(
  memory: BreakerMemory,
  poll: BreakerPoll,
  settings: BreakerSettings,
): BreakerMemory {
  if (poll.type === 'failed') return afterFailure(memory, poll.at);
  const health = healthOf(poll);
  const allowed = allowedUnhealthy(settings.maxUnhealthy, health.machines);
  const turns = turnsAfter(memory, poll);
  const isByEnds = isMassEnd(health, allowed);
  const isLevel = isByEnds || isMass(health, allowed);
  const isCalm = !isLevel && !isMoving({ memory, health, allowed, turns });
  const calmPolls = isCalm ? memory.calmPolls + 1 : 0;
  const completePolls = memory.completePolls + 1;
  const isOver = calmPolls >= POLLS_TO_CLOSE;
  return {
    calmPolls,
    completePolls,
    incident: isOver
      ? undefined
      : incidentAfter(memory.incident, { poll, health, isLevel, isByEnds, calmPolls, settings }),
    listFailedSince: completePolls >= POLLS_TO_CLOSE ? undefined : memory.listFailedSince,
    unhealthy: new Set(unhealthyOf(poll)),
    turns,
  };
}

/**
 * Returns the memory after a person confirmed that replacement may continue: slowly, while as many machines are bad.
 */
export function closeByHand(memory: BreakerMemory, at: number): BreakerMemory {
  const { incident } = memory;
  const released = { by: 'person', at } as const;
  return { ...memory, listFailedSince: undefined, incident: incident && { ...incident, released } };
}

/**
 * Returns the maximum number of bad machines among `machines`: the share, and at least one unless the limit is 0.
 * Undefined if any number may be bad.
 */
export function allowedUnhealthy(maxUnhealthy: number | string, machines: number): number | undefined {
  const share = typeof maxUnhealthy === 'string' ? /^(\d{1,3})%$/.exec(maxUnhealthy) : null;
  const percent = Number(share?.[1]);
  if (share && percent >= 100) return undefined;
  const tolerated = share ? Math.floor((percent * machines) / 100) : Number(maxUnhealthy);
  if (!Number.isFinite(tolerated)) return 1;
  return share && percent > 0 ? Math.max(1, tolerated) : tolerated;
}

/** Returns the ids of expected machines that are bad or missing in a complete list. */
export function unhealthyOf({
  expected,
  rows,
}: Pick<Extract<BreakerPoll, { type: 'complete' }>, 'expected' | 'rows'>): readonly string[] {
  return [...expected.keys()].filter((id) => {
    const row = rows.get(id);
    return row === undefined || isLost(row);
  });
}

interface Health {
  readonly machines: number;
  readonly ending: number;
  readonly unhealthy: number;
  readonly unseen: number;
}

function healthOf(poll: Extract<BreakerPoll, { type: 'complete' }>): Health {
  const unhealthy = unhealthyOf(poll);
  const unseen = unhealthy.filter((id) => {
    const row = poll.rows.get(id);
    return row !== undefined && isUnseen(row);
  });
  const { expected, ending } = poll;
  return { machines: expected.size, ending, unhealthy: unhealthy.length, unseen: unseen.length };
}

/** Returns the changes of the last minutes, including those that this poll shows. */
function turnsAfter(
  { turns, unhealthy: before }: BreakerMemory,
  poll: Extract<BreakerPoll, { type: 'complete' }>,
): ReadonlyMap<string, Turn> {
  const { monotonic, expected } = poll;
  const unhealthy = new Set(unhealthyOf(poll));
  const late = [...turns].filter(([, { at }]) => monotonic - at <= TOGETHER_MS);
  const changed = [...expected].filter(([id]) => unhealthy.has(id) !== before.has(id));
  const fresh = changed.map(([id, uid]) => [uid, { at: monotonic, isUnhealthy: unhealthy.has(id) }] as const);
  return new Map([...late, ...fresh]);
}

/**
 * Returns true if fewer machines are unhealthy than allowed but the number still changes: more turned unhealthy within
 * two minutes than by chance, in more than one poll, or machines of an incident still recover.
 */
function isMoving({
  memory: { incident },
  health: { unhealthy },
  allowed,
  turns,
}: {
  readonly memory: BreakerMemory;
  readonly health: Health;
  readonly allowed: number | undefined;
  readonly turns: ReadonlyMap<string, Turn>;
}): boolean {
  if (allowed === undefined || unhealthy === 0) return false;
  const most = Math.min(MAX_TURNS, allowed);
  const worse = [...turns.values()].filter(({ isUnhealthy }) => isUnhealthy);
  const spreads = worse.length > most && new Set(worse.map(({ at }) => at)).size > 1;
  const isRecovering = incident !== undefined && turns.size - worse.length > most;
  return spreads || isRecovering;
}

/**
 * Returns true if more machines are unhealthy than allowed, or all are. A single machine proves nothing about others,
 * unless its host is unreachable: then the marketplace may be unable to reach any host.
 */
function isMass({ machines, unhealthy, unseen }: Health, allowed: number | undefined): boolean {
  if (allowed === undefined || unhealthy === 0) return false;
  const areAll = unhealthy === machines && (machines > 1 || unseen === 1);
  return unhealthy > allowed || areAll;
}

/**
 * Returns true if more machines would end at the same time than chance explains. One wrong figure could end every
 * machine that it affects, so these ends wait for a person.
 */
function isMassEnd({ ending }: Health, allowed: number | undefined): boolean {
  return allowed !== undefined && ending > Math.max(MAX_ENDS, allowed);
}

function incidentAfter(
  before: Incident | undefined,
  seen: {
    readonly poll: Extract<BreakerPoll, { type: 'complete' }>;
    readonly health: Health;
    readonly isLevel: boolean;
    readonly isByEnds: boolean;
    readonly calmPolls: number;
    readonly settings: BreakerSettings;
  },
): Incident | undefined {
  const { poll, health, isLevel, calmPolls, settings } = seen;
  if (calmPolls > 0) return before;
  const present = { unhealthy: Math.max(health.unhealthy, health.ending), machines: health.machines };
  const { unhealthy, machines } = before && before.unhealthy >= present.unhealthy ? before : present;
  const { since, sinceMonotonic } = before ?? { since: poll.at, sinceMonotonic: poll.monotonic };
  const isOver = poll.monotonic - sinceMonotonic >= settings.maxHoldMs;
  const released = before?.released ?? (isOver ? ({ by: 'hold', at: poll.at } as const) : undefined);
  const isCreeping = !isLevel && before?.isCreeping !== false;
  const isByEnds = seen.isByEnds || before?.isByEnds === true;
  return { since, sinceMonotonic, released, unhealthy, machines, isCreeping, isByEnds };
}

function afterFailure(memory: BreakerMemory, at: number): BreakerMemory {
  return { ...memory, calmPolls: 0, completePolls: 0, listFailedSince: memory.listFailedSince ?? at };
}

function listFailure(since: number): BreakerState {
  const message = 'The list of machines failed; nothing is replaced or swept until two lists were complete.';
  return { type: 'open', since, cause: 'listFailed', unhealthy: 0, message };
}

function massFailure({ since, unhealthy, machines, isCreeping, isByEnds }: Incident): BreakerState {
  if (isByEnds) {
    const message = `${unhealthy} of ${counted(machines, 'machine')} would end at once by limit, price, drift or idleness; none is ended.`;
    return { type: 'open', since, cause: 'massEnds', unhealthy, message };
  }
  const why = isCreeping ? 'one after the other' : 'more than maxUnhealthy allows';
  const message = `${unhealthy} of ${counted(machines, 'machine')} became unhealthy or missing, ${why}; nothing is replaced or swept.`;
  return { type: 'open', since, cause: 'massFailure', unhealthy, message };
}

function slow(
  { since, unhealthy, machines, isByEnds }: Incident,
  { by: releasedBy, at: releasedAt }: NonNullable<Incident['released']>,
  turn: string | undefined,
): BreakerState {
  const what = isByEnds ? 'would end by limit, price, drift or idleness' : 'became unhealthy or missing';
  const message = `${unhealthy} of ${counted(machines, 'machine')} ${what}; they are replaced one at a time, at most 10% in 10 minutes.`;
  return { type: 'slow', since, releasedAt, releasedBy, unhealthy, message, turn };
}

/** Returns the breaker that a status records; a new process starts with it. */
export function breakerOf(account: MarketplaceAccount): BreakerState {
  const { breaker } = account.status ?? {};
  const isOpen = breaker?.open === true;
  if (!breaker || (!isOpen && breaker.releasedAt === undefined)) return { type: 'closed' };
  const { unhealthy = 0 } = breaker;
  const since = Date.parse(breaker.since);
  if (breaker.releasedAt === undefined) {
    const message = 'The breaker is open in the status of the account; nothing is replaced or swept.';
    return { type: 'open', since, cause: 'massFailure', unhealthy, message };
  }
  const message =
    'The breaker is released in the status of the account; machines are replaced one at a time.';
  const releasedBy = isOpen ? 'hold' : 'person';
  const releasedAt = Date.parse(breaker.releasedAt);
  return { type: 'slow', since, releasedAt, releasedBy, unhealthy, message, turn: undefined };
}

/** Period in which the breaker was open, in monotonic milliseconds. */
export interface OpenSpan {
  readonly from: number;
  /** Undefined while it is open. */
  readonly until: number | undefined;
}

/** Maximum number of spans. Beyond it the two oldest are merged, which can only reduce the counted time. */
const MAX_SPANS = 64;

/** Returns the spans after the breaker was evaluated at `at`: `isHolding` now. */
export function openSpansAfter(
  spans: readonly OpenSpan[],
  isHolding: boolean,
  at: number,
): readonly OpenSpan[] {
  const last = spans.at(-1);
  const isOpen = last !== undefined && last.until === undefined;
  if (isOpen === isHolding) return spans;
  if (isOpen) return [...spans.slice(0, -1), { from: last.from, until: at }];
  const [first, second, ...rest] = spans;
  const kept =
    spans.length < MAX_SPANS || !first || !second
      ? spans
      : [{ from: first.from, until: second.until }, ...rest];
  return [...kept, { from: at, until: undefined }];
}

/** Returns the milliseconds between two times that no span covers. */
export function timeOutsideSpans(
  spans: readonly OpenSpan[],
  { from, until }: { readonly from: number; readonly until: number },
): number {
  const within = spans.reduce((sum, span) => {
    const end = Math.min(until, span.until ?? until);
    return sum + Math.max(0, end - Math.max(from, span.from));
  }, 0);
  return until - from - within;
}

/** Returns true if a span covers the time. */
export function isOpenAt(spans: readonly OpenSpan[], at: number): boolean {
  return spans.some(({ from, until }) => at >= from && (until === undefined || at < until));
}
