import { dollarText, inDollars } from '../../views/amounts.ts';
import { FLEET_KINDS, type FleetKind } from '../../views/fleet.ts';
import { FILTER_FIELDS, type GroupBy } from '../../views/fleet-list.ts';
import { visibleLine } from '../../views/visible-text.ts';
import type { KindStatus } from '../protocol.ts';
import { Detail } from './detail.tsx';
import { FleetTable, hourlyShort } from './fleet-table.tsx';
import { filter, groupBy, opened } from './location.ts';
import { offeredLabels, rows, shownCount, status, totals } from './store.ts';

let filterBox: HTMLInputElement | null = null;

/** Focuses the filter. */
export function focusFilter(): void {
  filterBox?.focus();
  filterBox?.select();
}

/** Shows all objects with their state, money and next action. */
export function Fleet() {
  return (
    <div class={`fleet ${opened.value === '' ? '' : 'with-detail'}`}>
      <section class="list" aria-label="Fleet">
        <Toolbar />
        <KindNotes />
        <Content />
      </section>
      {opened.value !== '' && <Detail />}
    </div>
  );
}

const GROUPINGS: readonly (readonly [GroupBy, string])[] = [
  ['none', 'No groups'],
  ['namespace', 'Namespace'],
  ['account', 'Account'],
  ['group', 'EndpointGroup'],
  ['gpu', 'GPU'],
  ['kind', 'Kind'],
];

function Toolbar() {
  const labels = offeredLabels.value;
  const isForeign = groupBy.value.startsWith('label:') && !labels.includes(groupBy.value.slice(6));
  return (
    <div class="toolbar">
      <div class="filter">
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter: state:running ns:team gpu:4090 -word"
          title={`Fields: ${FILTER_FIELDS.join(', ')}`}
          spellcheck={false}
          autocomplete="off"
          ref={(element) => {
            filterBox = element;
          }}
          value={filter.value}
          onInput={({ currentTarget }) => (filter.value = currentTarget.value)}
        />
        <kbd aria-hidden="true">/</kbd>
      </div>
      <label class="grouping">
        <span>Group by</span>
        <select aria-label="Group by" value={groupBy.value} onChange={({ currentTarget }) => (groupBy.value = currentTarget.value as GroupBy)}>
          {GROUPINGS.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
          {[...labels, ...(isForeign ? [groupBy.value.slice(6)] : [])].map((name) => (
            <option key={name} value={`label:${name}`}>
              Label {visibleLine(name).slice(0, 60)}
            </option>
          ))}
        </select>
      </label>
      <Sums />
    </div>
  );
}

function Sums() {
  const { instances, perHour, month, stuck } = totals.value;
  const isStuckShown = filter.value.split(/\s+/).includes('state:stuck');
  const toggle = () => {
    const others = filter.value.split(/\s+/).filter((term) => term !== 'state:stuck' && term !== '');
    filter.value = (isStuckShown ? others : [...others, 'state:stuck']).join(' ');
  };
  return (
    <div class="sums">
      <span>
        <b>{instances}</b> {instances === 1 ? 'instance' : 'instances'}
      </span>
      <span>
        <b>{hourlyShort(perHour)}</b>/h
      </span>
      <span title="Of the GpuInstances that exist. With deleted ones: gpu-rent cost --since">
        <b>{dollarText(inDollars(month))}</b> this month
      </span>
      {(stuck > 0 || isStuckShown) && (
        <button type="button" class="stuck-toggle" aria-pressed={isStuckShown} onClick={toggle}>
          {stuck} {stuck === 1 ? 'needs' : 'need'} you
        </button>
      )}
    </div>
  );
}

/** Notes about kinds that are not shown, and why; the others still are. */
function KindNotes() {
  const { kinds, namespace } = status.value ?? {};
  const notes = Object.entries(kinds ?? {}).flatMap(([kind, state]) => {
    const text = noteOf(kind as FleetKind, state, namespace);
    return text === undefined ? [] : [[kind, text] as const];
  });
  return (
    <>
      {notes.map(([kind, text]) => (
        <p key={kind} class="note">
          {text}
        </p>
      ))}
    </>
  );
}

function noteOf(kind: FleetKind, state: KindStatus, namespace: string | undefined): string | undefined {
  const { plural, group } = FLEET_KINDS[kind];
  if (state.state === 'unserved') return `The cluster serves no ${plural}. Install the CRDs: gpu-rent doctor.`;
  if (state.state !== 'forbidden') return undefined;
  const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
  const advice = namespace === undefined ? ' Or choose one namespace: gpu-rent ui -n NAME.' : '';
  return `You may not ${state.verb} ${plural} ${where}. Ask an administrator for the verbs list and watch on ${plural}.${group}.${advice}`;
}

function Content() {
  const { kinds, namespace } = status.value ?? {};
  const states = Object.values(kinds ?? {}).map(({ state }) => state);
  if (rows.value.length > 0 && shownCount.value === 0)
    return (
      <div class="empty">
        <p>No object matches this filter.</p>
        <button type="button" onClick={() => (filter.value = '')}>
          Clear the filter
        </button>
      </div>
    );
  if (rows.value.length > 0) return <FleetTable />;
  if (status.value === undefined || states.includes('loading'))
    return (
      <div class="loading" role="status" aria-label="Loading objects">
        {[0, 1, 2, 3, 4, 5].map((line) => (
          <div key={line} class="bone" />
        ))}
      </div>
    );
  if (!states.includes('ready')) return <div class="empty">Nothing to show: you may see no kind.</div>;
  return (
    <div class="empty">
      <p>{namespace === undefined ? 'No objects in this cluster.' : `No objects in namespace ${namespace}.`}</p>
      <p class="muted">
        Rent a machine: <code>gpu-rent run --gpu 'RTX 4090' --image IMAGE --max-price 0.60</code>
        {namespace !== undefined && (
          <>
            {' '}
            or look into all namespaces: <code>gpu-rent ui -A</code>
          </>
        )}
      </p>
    </div>
  );
}
