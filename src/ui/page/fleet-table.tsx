import { computed, effect, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { dollarText, hourlyText, inDollars } from '../../views/amounts.ts';
import { type FleetRow, rowAge, untilText } from '../../views/fleet.ts';
import type { RowGroup, SortColumn } from '../../views/fleet-list.ts';
import { groupBy, opened, order, sortBy } from './location.ts';
import { Cut, KindTag, StateBadge } from './parts.tsx';
import { now, rowGroups } from './store.ts';

interface ColumnHead {
  readonly by: SortColumn;
  readonly title: string;
  readonly numeric?: boolean;
}

const COLUMNS: readonly ColumnHead[] = [
  { by: 'state', title: 'State' },
  { by: 'name', title: 'Name' },
  { by: 'gpu', title: 'GPU' },
  { by: 'perHour', title: '$/h', numeric: true },
  { by: 'month', title: 'This month', numeric: true },
  { by: 'age', title: 'Age', numeric: true },
  { by: 'next', title: 'Next' },
  { by: 'endpoint', title: 'Endpoint' },
  { by: 'account', title: 'Account' },
];

/** A line of the list: a row, or the head of a group. */
type Line =
  | { readonly type: 'row'; readonly row: FleetRow }
  | { readonly type: 'group'; readonly group: RowGroup };

const lines = computed<readonly Line[]>(() =>
  rowGroups.value.flatMap((group): readonly Line[] => [
    ...(groupBy.value === 'none' ? [] : [{ type: 'group', group } as const]),
    ...group.rows.map((row) => ({ type: 'row', row }) as const),
  ]),
);

/** Id of the row under the cursor of the keyboard. */
export const cursor = signal('');
const isNarrow = signal(false);
const scrolled = signal(0);
const room = signal(600);

const lineHeight = computed(() => (isNarrow.value ? 76 : 36));
const OVERSCAN = 8;

/** Moves the cursor by that many rows, and shows it. */
export function moveCursor(by: number): void {
  const ids = lines.value.flatMap((line) => (line.type === 'row' ? [line.row.id] : []));
  if (ids.length === 0) return;
  const at = ids.indexOf(cursor.value);
  // Without a cursor the first step down reaches the first row, and the first step up the last one.
  const from = at < 0 && by < 0 ? ids.length : at;
  const next = Math.min(ids.length - 1, Math.max(0, from + by));
  cursor.value = ids[next] ?? '';
}

let list: HTMLDivElement | null = null;

/** Focuses the list. */
export function focusList(): void {
  list?.focus();
}

function showCursor(id: string): void {
  if (list === null || id === '') return;
  const at = lines.peek().findIndex((line) => line.type === 'row' && line.row.id === id);
  if (at < 0) return;
  const [top, height] = [at * lineHeight.peek(), lineHeight.peek()];
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
}

/** Shows the rows as a table, or as cards in a narrow window. Only the visible ones are in the document. */
export function FleetTable() {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    list = element;
    const measure = () => {
      isNarrow.value = element.clientWidth < 620;
      room.value = element.clientHeight;
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    const stop = effect(() => showCursor(cursor.value));
    return () => {
      observer.disconnect();
      stop();
      list = null;
    };
  }, []);
  const all = lines.value;
  const height = lineHeight.value;
  const first = Math.max(0, Math.floor(scrolled.value / height) - OVERSCAN);
  const last = Math.min(all.length, Math.ceil((scrolled.value + room.value) / height) + OVERSCAN);
  const at = all.findIndex((line) => line.type === 'row' && line.row.id === cursor.value);
  return (
    <div class={`grid ${isNarrow.value ? 'cards' : 'table'}`} role="grid" aria-label="Objects" aria-rowcount={all.length + 1}>
      <div class={`head ${all.length * height > room.value ? 'scrolls' : ''}`} role="rowgroup">
        <div class="line" role="row" aria-rowindex={1}>
          {COLUMNS.map((column) => (
            <Head key={column.by} {...column} />
          ))}
        </div>
      </div>
      <div
        class={`body ${all.length * height > room.value ? 'scrolls' : ''}`}
        ref={frame}
        role="rowgroup"
        tabIndex={0}
        aria-label="Rows"
        aria-activedescendant={at >= first && at < last ? lineId(at) : undefined}
        onScroll={({ currentTarget }) => (scrolled.value = currentTarget.scrollTop)}
      >
        <div class="space" role="presentation" style={{ height: `${all.length * height}px` }}>
          {all.slice(first, last).map((line, offset) => (
            <LineView key={keyOf(line)} line={line} at={first + offset} />
          ))}
        </div>
      </div>
    </div>
  );
}

function keyOf(line: Line): string {
  return line.type === 'row' ? line.row.id : `group ${line.group.key}`;
}

function lineId(at: number): string {
  return `line-${at}`;
}

function Head({ by, title, numeric }: ColumnHead) {
  const isSorted = order.value.by === by;
  const direction = order.value.descending ? 'descending' : 'ascending';
  return (
    <div class={`cell col-${by} ${numeric ? 'numeric' : ''}`} role="columnheader" aria-sort={isSorted ? direction : 'none'}>
      <button type="button" onClick={() => sortBy(by)}>
        {title}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (order.value.descending ? '↓' : '↑') : ''}
        </span>
      </button>
    </div>
  );
}

function LineView({ line, at }: { readonly line: Line; readonly at: number }) {
  const style = { transform: `translateY(${at * lineHeight.value}px)`, height: `${lineHeight.value}px` };
  if (line.type === 'group') return <GroupHead group={line.group} at={at} style={style} />;
  const { row } = line;
  const classes = ['line', cursor.value === row.id ? 'at-cursor' : '', opened.value === row.id ? 'open' : ''];
  const open = () => {
    cursor.value = row.id;
    opened.value = opened.value === row.id ? '' : row.id;
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles Enter for the row under the cursor.
    <div
      class={classes.join(' ')}
      id={lineId(at)}
      role="row"
      aria-rowindex={at + 2}
      aria-selected={opened.value === row.id}
      style={style}
      onClick={open}
    >
      <div class="cell col-state" role="gridcell">
        <StateBadge state={row.state} />
      </div>
      <div class="cell col-name" role="gridcell">
        <KindTag kind={row.kind} />
        <span class="full-name cut">
          <Cut class="namespace" text={row.namespace} />
          <span class="slash">/</span>
          <Cut class="name" text={row.name} />
        </span>
      </div>
      <div class="cell col-gpu" role="gridcell">
        <Cut text={row.gpu} />
      </div>
      <div class="cell col-perHour numeric" role="gridcell">
        {hourlyShort(row.perHour)}
      </div>
      <div class="cell col-month numeric" role="gridcell">
        {dollarText(inDollars(row.month)) ?? <Unknown />}
      </div>
      <div class="cell col-age numeric" role="gridcell">
        {rowAge(row, now.value)}
      </div>
      <div class="cell col-next" role="gridcell">
        <NextCell row={row} />
      </div>
      <div class="cell col-endpoint mono" role="gridcell">
        <Cut text={row.endpoint} />
      </div>
      <div class="cell col-account" role="gridcell">
        <Cut text={row.kind === 'gpuacct' ? '' : row.account} />
      </div>
    </div>
  );
}

function Unknown() {
  return (
    <span class="unknown" title="Not known from the objects that you may list">
      –
    </span>
  );
}

/** Returns an hourly price with three digits, so that a column of prices is even. */
export function hourlyShort(perHour: number | undefined): string {
  const dollars = inDollars(perHour);
  if (dollars === undefined) return '';
  return dollars !== 0 && dollars < 0.0005 ? (hourlyText(dollars) ?? '') : `$${dollars.toFixed(3)}`;
}

function NextCell({ row }: { readonly row: FleetRow }) {
  const { next } = row;
  if (next === undefined) return null;
  const until = untilText(next, now.value);
  return (
    <span class={`next ${next.needsPerson ? 'needs-person' : ''}`}>
      {until !== undefined && <span class="until">{until}</span>}
      {next.needsPerson && <span class="until">You:</span>}
      <Cut text={next.title} />
    </span>
  );
}

interface GroupHeadProps {
  readonly group: RowGroup;
  readonly at: number;
  readonly style: Readonly<Record<string, string>>;
}

function GroupHead({ group: { key, rows, totals }, at, style }: GroupHeadProps) {
  return (
    <div class="line group-head" id={lineId(at)} role="row" aria-rowindex={at + 2} style={style}>
      <div class="cell" role="gridcell" aria-colspan={COLUMNS.length}>
        <Cut class="group-key" text={key === '' ? `No ${groupBy.value.replace('label:', 'label ')}` : key} />
        <span class="group-sum">
          {rows.length} {rows.length === 1 ? 'object' : 'objects'}
        </span>
        <span class="group-sum">{hourlyShort(totals.perHour)}/h</span>
        <span class="group-sum">{dollarText(inDollars(totals.month))} this month</span>
      </div>
    </div>
  );
}
