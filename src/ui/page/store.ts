import { computed, signal } from '@preact/signals';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { FLEET_KINDS, type FleetKind, type FleetObjects, fleetRows } from '../../views/fleet.ts';
import { groupRows, labelNames, parseFilter, sortRows, totalsOf } from '../../views/fleet-list.ts';
import type { FeedChange, FeedObject, FeedStatus } from '../protocol.ts';
import { filter, groupBy, order } from './location.ts';

/** State of the connection to the process of `gpu-rent ui`. `full`: the process has too many streams. */
export type Link = 'connecting' | 'open' | 'lost' | 'full' | 'refused';

export const link = signal<Link>('connecting');
/** Last status of the stream; undefined before the first. */
export const status = signal<FeedStatus | undefined>(undefined);
/** Clock of the process, epoch milliseconds; it advances each second. */
export const now = signal(Date.now());
/** The same in steps of ten seconds, for sums over all rows. */
const slowNow = computed(() => Math.floor(now.value / 10_000) * 10_000);

let offsetMs = 0;
const kept = new Map<string, FeedObject>();
/** Reads of {@link kept}: a new value for each change, since the map changes in place. */
const changes = signal({ all: () => [...kept.values()], get: (id: string) => kept.get(id) });

/** Advances the clock. */
export function tick(): void {
  now.value = Date.now() + offsetMs;
}

/** Takes over a status of the stream, with its clock. */
export function receiveStatus(next: FeedStatus): void {
  offsetMs = next.now - Date.now();
  status.value = next;
  tick();
}

const KIND_BY_NAME: ReadonlyMap<string, FleetKind> = new Map(
  (Object.entries(FLEET_KINDS) as [FleetKind, { kind: string }][]).map(([kind, { kind: name }]) => [
    name,
    kind,
  ]),
);

/** Takes over a change of the stream. */
export function receiveChange({ reset, objects, removed }: FeedChange): void {
  if (reset) kept.clear();
  for (const id of removed) kept.delete(id);
  for (const object of objects) kept.set(idOf(object), object);
  changes.value = { ...changes.value };
}

function idOf({ kind, metadata: { namespace = '', name } }: FeedObject): string {
  return `${KIND_BY_NAME.get(kind) ?? kind}/${namespace}/${name}`;
}

/** Objects by kind. */
export const objects = computed<FleetObjects>(() => {
  const all = changes.value.all();
  const ofKind = <T extends FeedObject>(kind: T['kind']) =>
    all.filter((object): object is T => object.kind === kind);
  return {
    instances: ofKind<GpuInstance>('GpuInstance'),
    groups: ofKind<EndpointGroup>('EndpointGroup'),
    accounts: ofKind<MarketplaceAccount>('MarketplaceAccount'),
  };
});

/** Returns the object of a row id; undefined if it does not exist. */
export function objectOf(id: string): FeedObject | undefined {
  return changes.value.get(id);
}

/** True if every GpuInstance of the cluster is known. */
export const isWhole = computed(
  () =>
    status.value !== undefined &&
    status.value.namespace === undefined &&
    status.value.kinds.gpui.state === 'ready',
);

/** All rows. */
export const rows = computed(() => fleetRows(objects.value, { now: slowNow.value, isWhole: isWhole.value }));
/** Rows that the filter shows, in order. */
const shownRows = computed(() => sortRows(rows.value.filter(parseFilter(filter.value)), order.value));
/** The same in groups. */
export const rowGroups = computed(() => groupRows(shownRows.value, groupBy.value));
/** Sums of the shown rows. */
export const totals = computed(() => totalsOf(shownRows.value));
export const shownCount = computed(() => shownRows.value.length);
export const offeredLabels = computed(() => labelNames(rows.value).slice(0, 12));
