import { agreeing, counted } from '../lib/plural.ts';
import { parseTime } from '../lib/time.ts';
import { ageText, dollarText, hourlyText } from './amounts.ts';
import type { GroupFigures, WorkerFigures } from './group-figures.ts';
import { printableLine } from './printable.ts';
import { UNSEEN } from './report.ts';
import { type Column, formatTable, NAMESPACE, type TableOptions } from './table.ts';

export interface TextOptions extends TableOptions {
  /** Epoch milliseconds, for ages. */
  readonly now: number;
  /** True if the groups are in several namespaces: names then include the namespace. */
  readonly namespaces: boolean;
}

/** Returns one line for each group, most expensive first, and one for their sum if there are several. */
export function overviewText(groups: readonly GroupFigures[], options: TextOptions): string {
  const rows = groups.toSorted(
    (left, right) =>
      (right.cost.perHour ?? 0) - (left.cost.perHour ?? 0) || left.name.localeCompare(right.name),
  );
  const columns = options.namespaces ? [NAMESPACE, ...OVERVIEW] : OVERVIEW;
  return formatTable(columns, rows.length > 1 ? [...rows, sumOf(rows)] : rows, options);
}

const OVERVIEW: readonly Column<GroupFigures>[] = [
  { header: 'Name', text: ({ name }) => name },
  { header: 'Phase', text: ({ phase }) => phase },
  { header: 'Ready', text: ({ workers: { ready, hot } }) => `${ready}/${hot}` },
  { header: 'Cold', text: ({ workers }) => String(workers.cold) },
  { header: 'Pickers', text: ({ gateway }) => gateway && String(gateway.pickers) },
  { header: 'Held', text: ({ gateway }) => gateway && String(gateway.heldRequests) },
  { header: 'In flight', text: ({ gateway }) => amount(gateway?.inFlightRequests) },
  { header: 'Load/s', text: ({ load }) => load && `${amount(load.perSecond)} ${load.unit}` },
  { header: 'Capacity/s', text: ({ load }) => amount(load?.capacityPerSecond) },
  { header: 'Wait', text: ({ load }) => waitText(load) },
  { header: '$/h', text: ({ cost }) => hourlyText(cost.perHour) },
  { header: 'At most', text: ({ cost }) => hourlyText(cost.maxPerHour), wide: true },
  { header: 'URL', text: ({ gateway }) => gateway?.url, wide: true },
];

function sumOf(groups: readonly GroupFigures[]): GroupFigures {
  const sum = (pick: (group: GroupFigures) => number | undefined) =>
    groups.reduce((total, group) => total + (pick(group) ?? 0), 0);
  const { ready, hot, cold } = {
    ready: sum(({ workers }) => workers.ready),
    hot: sum(({ workers }) => workers.hot),
    cold: sum(({ workers }) => workers.cold),
  };
  return {
    ...{ namespace: '', name: 'total', workerList: [] },
    workers: { ready, hot, cold, starting: 0, draining: 0, max: 0 },
    cost: { perHour: Math.round(sum(({ cost }) => cost.perHour) * 1e6) / 1e6 },
  };
}

/** Returns the details of one group: gateway, load, cost, and each worker. */
export function groupText(group: GroupFigures, options: TextOptions): string {
  const lines = groupFacts(group, options.now).map(
    ([label, text]) => `${`${label}:`.padEnd(10)}${printableLine(text)}\n`,
  );
  const { workerList } = group;
  const table = workerList.length === 0 ? '' : `\n${formatTable(WORKERS, workerList, options)}`;
  const title = `epg/${group.name} in ${group.namespace}: ${group.phase ?? UNSEEN}`;
  return `${printableLine(title)}\n${lines.join('')}${table}`;
}

/** Returns labels and texts of a group, in the order in which they are shown. */
export function groupFacts(
  group: GroupFigures,
  now: number,
): readonly (readonly [label: string, text: string])[] {
  const facts = [
    ['Workers', workersText(group)],
    ['Gateway', gatewayText(group, now)],
    ['Load', loadText(group, now)],
    ['Cost', costText(group)],
  ] as const;
  return facts.flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]));
}

/** Columns of a worker, for every table of workers. */
export const WORKERS: readonly Column<WorkerFigures>[] = [
  { header: 'Worker', text: ({ name }) => name },
  { header: 'Role', text: ({ role }) => role },
  { header: 'Ready', text: ({ ready }) => (ready ? 'yes' : 'no') },
  { header: 'Phase', text: ({ phase }) => phase },
  { header: 'Requests', text: ({ requests }) => amount(requests) },
  { header: 'Work', text: ({ work }) => amount(work) },
  { header: 'Work/s', text: ({ workPerSecond }) => amount(workPerSecond) },
  { header: '$/h', text: ({ pricePerHour }) => hourlyText(pricePerHour) },
  { header: 'GPU', text: ({ gpu }) => gpu && `${gpu.count} × ${gpu.name}` },
  {
    header: 'Age',
    text: ({ ageSeconds }) => (ageSeconds === undefined ? undefined : ageText(ageSeconds * 1000)),
  },
  { header: 'Endpoint', text: ({ endpoint }) => endpoint, wide: true },
];

function workersText({ workers }: GroupFigures): string {
  const { ready, hot, cold, starting, draining, max } = workers;
  return `${ready} of ${hot} hot ready, ${starting} starting, ${draining} draining, ${cold} cold; at most ${max}`;
}

function gatewayText({ gateway }: GroupFigures, now: number): string | undefined {
  if (!gateway) return undefined;
  const { pickers, heldRequests, inFlightRequests, url } = gateway;
  const figures = [
    counted(pickers, 'picker'),
    `${heldRequests} held`,
    ...(inFlightRequests === undefined ? [] : [`${inFlightRequests} in flight`]),
    ...(url === undefined ? [] : [url]),
  ];
  return `${figures.join(', ')}${agoText(gateway.reportedAt, now)}`;
}

function loadText({ load }: GroupFigures, now: number): string | undefined {
  if (!load) return undefined;
  const { unit, perSecond, burstPerSecond, capacityPerSecond, utilizationPercent, waiting } = load;
  const used = utilizationPercent === undefined ? '' : ` (${utilizationPercent} % used)`;
  const wait = waitText(load);
  const figures = [
    `${amount(perSecond)} ${unit}/s (${amount(burstPerSecond)} over 10 s)`,
    `${amount(capacityPerSecond)} can be done${used}`,
    `${amount(waiting)} ${agreeing(waiting, 'waits', 'wait')}${wait === undefined ? '' : `, for about ${wait}`}`,
  ];
  return `${figures.join('; ')}${agoText(load.at, now)}`;
}

function costText({ cost: { perHour, maxPerHour } }: GroupFigures): string | undefined {
  if (perHour === undefined) return undefined;
  const limit = maxPerHour === undefined ? '' : `; at most ${hourlyText(maxPerHour)}/h`;
  return `${hourlyText(perHour)}/h, ${dollarText(perHour * 24)}/day${limit}`;
}

/** Returns the age of figures: they are only written when they change. */
function agoText(at: string | undefined, now: number): string {
  const time = parseTime(at);
  return time === undefined ? '' : ` (written ${ageText(now - time)} ago)`;
}

function waitText(load: GroupFigures['load']): string | undefined {
  return load?.waitSeconds === undefined ? undefined : ageText(load.waitSeconds * 1000);
}

/** Returns an amount as text; below 100 with one digit after the point unless it is 0. */
function amount(value: number | undefined): string | undefined {
  if (value === undefined) return undefined;
  return String(value < 100 ? Math.round(value * 10) / 10 : Math.round(value));
}
