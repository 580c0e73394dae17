import { atMostDestroyed, crashEvery, namesOf, noneDestroyed, strike } from './outage-acts.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const STATUSES = ['offline', 'unknown', 'exited'] as const;
type Status = (typeof STATUSES)[number] | 'mixed';

/** Outage: which machines are not seen, and how they disappear and return. */
interface Outage {
  readonly fleet: number;
  readonly seconds: number;
  /** `lists`: machines run on, and their list fails. */
  readonly shows: Status | 'lists';
  readonly manner:
    | 'at once'
    | 'three in each list'
    | 'and return three in each list'
    | 'for 50 s of each 70 s'
    | 'with a crash'
    | 'with a new leader'
    | 'with a crash every minute'
    | 'and half of them stay dead';
}

const LENGTHS = [30, 62, 70, 300, 1_500, 1_800, 2_700];
const SHOWN = ['offline', 'unknown', 'exited', 'mixed', 'lists'] as const;
const MANNERS = [
  'three in each list',
  'and return three in each list',
  'with a crash',
  'with a new leader',
  'with a crash every minute',
] as const;

const HOLD_SECONDS = 1_800;
const WINDOW_SECONDS = 600;
/** Within this time after an outage a fleet is complete again. */
const COMPLETE_SECONDS = 600;
const POLL_SECONDS = 10;

/**
 * Returns true if no machine may be replaced. The only machine of an account is replaced if its container exited:
 * decision 0005.
 */
const keepsMachines = ({ fleet, shows }: Outage) => fleet > 1 || (shows !== 'exited' && shows !== 'mixed');

/** Every length and word for small fleets, and each of them, and each manner, for one of 200. */
const ALL: readonly Outage[] = [
  ...[1, 3, 12, 20].flatMap((fleet) =>
    LENGTHS.flatMap((seconds) =>
      SHOWN.map((shows) => ({ fleet, seconds, shows, manner: 'at once' as const })),
    ),
  ),
  ...[3, 12, 20].flatMap((fleet) =>
    MANNERS.flatMap((manner) =>
      [300, 1_500].map((seconds) => ({ fleet, seconds, shows: 'mixed' as const, manner })),
    ),
  ),
  ...[3, 20].map((fleet) => ({
    fleet,
    seconds: 3_600,
    shows: 'mixed' as const,
    manner: 'for 50 s of each 70 s' as const,
  })),
  ...STATUSES.map((shows) => ({
    fleet: 20,
    seconds: 1_500,
    shows,
    manner: 'and half of them stay dead' as const,
  })),
  ...LENGTHS.map((seconds, index) => ({
    ...{ fleet: 200, seconds, manner: 'at once' as const },
    shows: SHOWN[index % SHOWN.length] ?? 'offline',
  })),
  ...[...MANNERS, 'for 50 s of each 70 s' as const].map((manner) => ({
    ...{ fleet: 200, seconds: 300, shows: 'mixed' as const, manner },
  })),
];

/** Outages of any length from which all machines recover: none is destroyed before the hold, and few after it. */
export const OUTAGES: readonly Story[] = ALL.filter(keepsMachines).map((outage): Story => {
  const { fleet, seconds, shows, manner } = outage;
  const start = fleet > 100 ? 1_100 : 400;
  const end = start + seconds + tailOf(outage);
  const isLong = end - start > HOLD_SECONDS || manner === 'and half of them stay dead';
  const rest = manner === 'and half of them stay dead' ? 3_000 : COMPLETE_SECONDS;
  return {
    name: `${fleet} machines, ${shows} for ${seconds} s, ${manner}`,
    fleet,
    seconds: end + rest,
    ...(isLong && { mayLeave: true }),
    plot: (stage) => {
      befall(stage, outage, start);
      noneDestroyed(stage, start, isLong ? start + Math.min(seconds, HOLD_SECONDS) : end + rest);
      if (!isLong) return;
      stage.at(end + rest - 10, () => atMostDestroyed(stage, mostOf(outage, end + rest - start)));
    },
  };
});

/** Returns the maximum number of replacements until then: by the bucket after the hold, or all dead machines. */
function mostOf({ fleet, manner }: Outage, until: number): number {
  if (manner === 'and half of them stay dead') return Math.ceil(fleet / 2);
  const windows = Math.ceil((until - COMPLETE_SECONDS - HOLD_SECONDS) / WINDOW_SECONDS);
  // Those that are left when as few are bad as are tolerated are replaced at once.
  return windows * Math.max(1, Math.floor(fleet / 10)) + Math.max(1, Math.floor(fleet / 5));
}

/** Returns how much longer the last machine is not seen than the first, in seconds. */
function tailOf({ fleet, manner }: Outage): number {
  const isSpread = manner === 'three in each list' || manner === 'and return three in each list';
  return isSpread ? POLL_SECONDS * Math.floor(fleet / 3) : 0;
}

function befall(stage: Stage, outage: Outage, start: number): void {
  const { fleet, seconds, shows, manner } = outage;
  const middle = start + seconds / 2;
  if (manner === 'with a crash') stage.at(middle, () => stage.killAll());
  if (manner === 'with a crash every minute') crashEvery(stage, 60, start + 30, start + seconds);
  if (manner === 'with a new leader') {
    stage.at(10, () => stage.world.startProcess());
    stage.at(middle, () => stage.freezeLeader(60));
  }
  if (shows === 'lists') {
    const fate = { refusal: { status: 502, body: '{}', headers: { 'content-type': 'application/json' } } };
    stage.at(start, () => stage.cast({ call: 'list', seconds, fate }));
    return;
  }
  for (const [index, name] of namesOf(fleet).entries()) {
    const status = shows === 'mixed' ? (STATUSES[index % STATUSES.length] ?? 'offline') : shows;
    for (const { at, until } of spellsOf(outage, index))
      stage.at(start + at, () => strike(stage, name, status, until - at));
  }
}

/** Returns the periods in which that machine of the fleet is not seen. */
function spellsOf({ seconds, manner }: Outage, index: number): readonly { at: number; until: number }[] {
  const late = POLL_SECONDS * Math.floor(index / 3);
  switch (manner) {
    case 'three in each list':
      return [{ at: late, until: late + seconds }];
    case 'and return three in each list':
      return [{ at: 0, until: seconds + late }];
    case 'and half of them stay dead':
      return [{ at: 0, until: index % 2 === 0 ? 1_000_000 : seconds }];
    case 'for 50 s of each 70 s':
      return Array.from({ length: Math.ceil(seconds / 70) }, (_, spell) => ({
        at: 70 * spell,
        until: 70 * spell + 50,
      }));
    default:
      return [{ at: 0, until: seconds }];
  }
}
