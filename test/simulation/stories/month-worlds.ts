import type { GpuInstance } from '../../../src/api/v1alpha1/gpu-instance.ts';
import { statusCodec } from '../../../src/api/v1alpha1/status-codec.ts';
import type { LedgerData } from '../../../src/ledger/codec.ts';
import { chargesOfMonth } from '../../../src/ledger/cost-sums.ts';
import { monthEndOf, monthStartOf } from '../../../src/ledger/months.ts';
import { ledgerName } from '../../../src/ledger/names.ts';
import { readLedger } from '../../../src/ledger/storage.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { contractMicros } from '../../../src/simulator/world/ledger.ts';
import { exportText } from '../../../src/views/cost-export.ts';
import { Chance } from '../chance.ts';
import { type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { type SimulatedWorld, SYSTEM_NAMESPACE } from '../world.ts';
import { repriceMachine } from './acts.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const MINUTE = 60;
/** Begin of a world, before the end of November. */
const BEFORE_END = 50 * MINUTE;
/** Acts end some minutes into December; the operator closes November a quarter of an hour after its end. */
const LAST_ACT = BEFORE_END + 10 * MINUTE;
const SECONDS = BEFORE_END + 40 * MINUTE;
const FLEETS = [3, 4, 6] as const;
export const MONTHS = ['2026-11', '2026-12'] as const;
const NEXT_MONTH = monthStartOf(MONTHS[1]);
const BEGIN = NEXT_MONTH - BEFORE_END * 1000;
/** A person deletes the ConfigMap from then on. */
const DELETED_FROM = 20 * MINUTE;

/**
 * Returns the end of a month and the begin of the next one, drawn by the seed: people create, stop, start and delete
 * objects, some within seconds of the end; hosts raise prices; processes are killed; a person deletes the ConfigMap of
 * the month, or copies a line of it.
 */
export function monthWorld(seed: number, atEnd: (world: SimulatedWorld) => void): Story {
  const chance = new Chance(seededRandom(seed));
  const fleet = chance.oneOf(FLEETS);
  const names = Array.from({ length: fleet }, (_, index) => (index === 0 ? 'a' : `m-${index + 1}`));
  return {
    ...{ name: `the month of seed ${seed}`, seed, fleet, seconds: SECONDS, mayLeave: true },
    startsAt: BEGIN,
    plot: (stage) => {
      for (const name of names) planLife(stage, name, chance);
      for (const second of [0, 0, 0].map(() => 5 * MINUTE + chance.below(LAST_ACT)))
        stage.at(second, () => killUnlessLost(stage));
      stage.at(DELETED_FROM + chance.below(20 * MINUTE), () => deleteLedger(stage));
      stage.at(DELETED_FROM + chance.below(30 * MINUTE), () => copyLine(stage));
      stage.at(SECONDS - 1, () => atEnd(stage.world));
    },
  };
}

/** Plans what befalls an object, and its end: at the end of the month, within it, or never. */
function planLife(stage: Stage, name: string, chance: Chance): void {
  const ends = chance.oneOf([
    undefined,
    10 * MINUTE + chance.below(LAST_ACT - 10 * MINUTE),
    BEFORE_END - 3 + chance.below(6),
  ]);
  let second = 4 * MINUTE;
  let isStopped = false;
  let rises = 0;
  while (second < (ends ?? LAST_ACT) - 2 * MINUTE) {
    if (isStopped || chance.isWithin(0.5)) {
      isStopped = !isStopped;
      const power = isStopped ? 'Stopped' : 'Running';
      stage.at(second, () => stage.users.setPowerState(name, power));
    } else {
      rises += 1;
      const price = 310_000 + 20_000 * rises;
      stage.at(second, () => raise(stage, name, price));
    }
    second += 3 * MINUTE + chance.below(8 * MINUTE);
  }
  if (ends === undefined) return;
  stage.at(ends, () => stage.users.delete(name));
  if (chance.isWithin(0.6)) stage.at(ends + 20, () => stage.users.createInstance(`${name}-next`));
}

/** Raises the price of a running machine. */
function raise(stage: Stage, name: string, price: number): void {
  const contract = stage.world.market.store.current().tables.contracts[stage.machineOf(name)];
  if (contract?.spans.at(-1)?.gpuPerHour) repriceMachine(stage, name, price);
}

/** Returns the address of the ConfigMap of the first month. */
const ledgerAddress = ({ kube }: SimulatedWorld, month: string) => ({
  ...{ kind: kube.kind('configmaps'), namespace: SYSTEM_NAMESPACE, name: ledgerName(month) },
});

/**
 * Kills every process, unless the ConfigMap is gone that a person deleted: its lines of deleted objects are then only in
 * the memory of the process, which writes them again within an hour.
 */
function killUnlessLost(stage: Stage): void {
  const { kube, now } = stage.world;
  const isLost =
    now > BEGIN + DELETED_FROM * 1000 && !kube.writes.read(ledgerAddress(stage.world, MONTHS[0]));
  if (!isLost) stage.killAll();
}

function deleteLedger({ world, invariants }: Stage): void {
  const address = ledgerAddress(world, MONTHS[0]);
  if (world.kube.writes.read(address)) invariants.byPerson(() => world.kube.writes.delete(address, {}));
}

/** Writes the first line of the ledger twice, as a person who edits it may. */
function copyLine({ world, invariants }: Stage): void {
  const address = ledgerAddress(world, MONTHS[0]);
  if (!world.kube.writes.read(address)) return;
  const copied = (current: JsonObject): JsonObject => {
    const data = objectAt(current, 'data');
    const lines = String(data['entries'] ?? '');
    return { ...current, data: { ...data, entries: `${lines.split('\n')[0]}\n${lines}` } };
  };
  invariants.byPerson(() => world.kube.writes.update(address, copied, undefined));
}

/** Returns the ledger of the operator as `gpu-rent cost export` reads it. */
function chargesOf({ kube, now }: SimulatedWorld, month: string) {
  const maps = kube.store.all(kube.kind('configmaps')).filter(({ metadata }) => metadata !== undefined);
  const stored = maps.map(
    (map) => [String(metadataOf(map)['name']), objectAt(map, 'data') as LedgerData] as const,
  );
  const instances = kube.store
    .all(kube.kind('gpuinstances'))
    .map((object) => statusCodec.decode(object) as unknown as GpuInstance);
  const ledger = readLedger(new Map(stored), MONTHS[1]);
  return chargesOfMonth({ ledger, instances, now, namespace: undefined }, month);
}

/** Returns the sum of the column BilledCost of an export, in micro-dollars. */
export function exportedMicros(world: SimulatedWorld, month: string): number {
  const text = exportText('csv', { month, charges: chargesOf(world, month), provider: 'Vast.ai' });
  const [head = '', ...rows] = text.trimEnd().split('\r\n');
  const column = head.split(',').indexOf('dollars');
  return rows.reduce((sum, row) => sum + Math.round(Number(row.split(',')[column]) * 1e6), 0);
}

/** Returns what the marketplace billed in a month until now, for all machines that ever were, in micro-dollars. */
export function billedMicros({ market, now }: SimulatedWorld, month: string): number {
  const { contracts, endedContracts } = market.store.current().tables;
  const all = [...Object.values(contracts), ...Object.values(endedContracts).map(({ last }) => last)];
  const until = (at: number) => Math.min(now, at);
  return all.reduce(
    (sum, contract) =>
      sum +
      contractMicros(contract, until(monthEndOf(month))) -
      contractMicros(contract, until(monthStartOf(month))),
    0,
  );
}
