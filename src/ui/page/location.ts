import { computed, effect, signal } from '@preact/signals';
import { type GroupBy, type Order, SORT_COLUMNS, type SortColumn } from '../../views/fleet-list.ts';

/* State of the view that survives a reload: it is the query of the URL. */

const query = new URLSearchParams(window.location.search);

/** Name of the view in {@link VIEWS}. */
export const view = signal(query.get('view') ?? 'fleet');
export const filter = signal(query.get('filter') ?? '');
export const groupBy = signal<GroupBy>((query.get('group') ?? 'none') as GroupBy);
/** Id of the open row, such as `gpui/namespace/name`. */
export const opened = signal(query.get('open') ?? '');

const sorted = signal(query.get('sort') ?? '');
const NEEDS_PERSON_FIRST: Order = { by: 'state', descending: false };

/** Order of the rows. */
export const order = computed<Order>(() => {
  const [by = '', direction] = sorted.value.split('.');
  const isColumn = (SORT_COLUMNS as readonly string[]).includes(by);
  return isColumn ? { by: by as SortColumn, descending: direction === 'desc' } : NEEDS_PERSON_FIRST;
});

/** Columns that begin with the highest value. */
const DESCENDING_FIRST: ReadonlySet<SortColumn> = new Set(['perHour', 'month']);

/** Sorts by the column; a second time in the other direction. */
export function sortBy(by: SortColumn): void {
  const { by: before, descending } = order.value;
  const isDescending = before === by ? !descending : DESCENDING_FIRST.has(by);
  sorted.value = `${by}.${isDescending ? 'desc' : 'asc'}`;
}

/** Keeps the URL equal to the state, without entries in the history. */
export function followLocation(): void {
  effect(() => {
    const fields = {
      view: view.value === 'fleet' ? '' : view.value,
      filter: filter.value,
      sort: sorted.value,
      group: groupBy.value === 'none' ? '' : groupBy.value,
      open: opened.value,
    };
    const next = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ''));
    const text = next.toString();
    window.history.replaceState(null, '', text === '' ? window.location.pathname : `?${text}`);
  });
}
