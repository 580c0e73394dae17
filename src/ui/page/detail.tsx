import { effect, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { accountKey, accountRefOf } from '../../instance/account-ref.ts';
import { accountReport } from '../../views/account-report.ts';
import type { ShownEvent } from '../../views/events.ts';
import { accountMonth, type FleetRow } from '../../views/fleet.ts';
import { groupReport } from '../../views/group-report.ts';
import { instanceReport } from '../../views/instance-report.ts';
import { objectCommands } from '../../views/object-commands.ts';
import { type ReportTable, type StatusReport, since } from '../../views/report.ts';
import { visibleText } from '../../views/visible-text.ts';
import { type FeedObject, type ObjectDetail, PATHS } from '../protocol.ts';
import { focusList } from './fleet-table.tsx';
import { opened } from './location.ts';
import { Command, Cut, KindTag, LongText, StateBadge } from './parts.tsx';
import { isWhole, now, objectOf, objects, rows } from './store.ts';
import { readData } from './stream.ts';

interface Loaded {
  readonly id: string;
  readonly detail?: ObjectDetail;
  readonly problem?: string;
}

const loaded = signal<Loaded>({ id: '' });

async function load(id: string): Promise<void> {
  const [kind = '', namespace = '', name = ''] = id.split('/');
  const query = new URLSearchParams({ kind, namespace, name });
  try {
    const response = await readData(`${PATHS.object}?${query}`);
    if (opened.peek() !== id) return;
    if (response.ok) loaded.value = { id, detail: (await response.json()) as ObjectDetail };
    else loaded.value = { id, problem: (await response.text()).slice(0, 2_000) };
  } catch {
    if (opened.peek() === id) loaded.value = { id, problem: 'gpu-rent ui does not answer.' };
  }
}

/** Loads manifest and events of the open object, and again after it changes. */
function followOpened(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let before = '';
  const stop = effect(() => {
    const id = opened.value;
    const version = objectOf(id)?.metadata.resourceVersion ?? '';
    clearTimeout(timer);
    if (id === '') return;
    const isOther = id !== before;
    before = id;
    const begin = () => {
      load(id).catch(() => undefined);
    };
    timer = setTimeout(begin, isOther || version === '' ? 0 : 500);
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

/** Closes the detail, and returns to the list. */
export function closeDetail(): void {
  opened.value = '';
  focusList();
}

/** Shows everything about the open object. */
export function Detail() {
  useEffect(followOpened, []);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = opened.value;
  const object = objectOf(id);
  const row = rows.value.find((each) => each.id === id);
  // Where the panel covers the list, the focus goes with it.
  useEffect(() => {
    if (window.matchMedia('(max-width: 999px)').matches) heading.current?.focus();
  }, [id]);
  return (
    <aside class="detail" aria-label="Object">
      <header>
        {row && <KindTag kind={row.kind} />}
        <h2 ref={heading} tabIndex={-1}>
          <Cut class="namespace" text={id.split('/')[1]} />
          <span class="slash">/</span>
          <Cut text={id.split('/')[2]} />
        </h2>
        {row && <StateBadge state={row.state} />}
        <button type="button" class="close" aria-label="Close (Esc)" title="Close (Esc)" onClick={closeDetail}>
          ×
        </button>
      </header>
      {object && row ? (
        <Report key={id} object={object} row={row} />
      ) : (
        <p class="empty">This object does not exist, or you may not see it.</p>
      )}
    </aside>
  );
}

function reportOf(object: FeedObject, events: readonly ShownEvent[], at: number): StatusReport {
  switch (object.kind) {
    case 'GpuInstance':
      return instanceReport(object, events, at);
    case 'EndpointGroup':
      return groupReport(object, { workers: objects.value.instances, events }, at);
    case 'MarketplaceAccount': {
      const key = accountKey({ namespace: object.metadata.namespace ?? '', name: object.metadata.name });
      const users = objects.value.instances.filter((one) => accountKey(accountRefOf(one)) === key);
      const spentThisMonth = isWhole.value ? accountMonth(object, users, at) : undefined;
      return accountReport(object, { events, spentThisMonth }, at);
    }
  }
}

function Report({ object, row }: { readonly object: FeedObject; readonly row: FleetRow }) {
  const { id, detail, problem } = loaded.value;
  const own = id === row.id ? detail : undefined;
  const { next, facts, tables, conditions, events } = reportOf(object, own?.events ?? [], now.value);
  return (
    <div class="report">
      <section class={`next-box ${row.next?.needsPerson ? 'needs-person' : ''}`}>
        <h3>Next</h3>
        {next.length === 0 ? (
          <p>{idleText(row)}</p>
        ) : (
          <ul>
            {next.map((step) => (
              <li key={step}>
                <LongText text={step} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <section>
        <h3>Facts</h3>
        <dl>
          {facts.map(([label, text]) => (
            <div class="fact" key={label}>
              <dt>{label}</dt>
              <dd>
                <LongText text={text} />
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <section>
        <h3>Commands</h3>
        {objectCommands(row, object).map(({ title, text }) => (
          <Command key={title} title={title} text={text} />
        ))}
      </section>
      {tables
        .filter((table) => table.rows.length > 0)
        .map((table) => (
          <Table key={table.title} {...table} />
        ))}
      <Table
        title="Conditions"
        headers={['Since', 'Type', 'Status', 'Reason', 'Message']}
        rows={conditions.map(({ lastTransitionTime, type, status, reason, message }) => [
          ...[since(lastTransitionTime, now.value), type, status, reason, message],
        ])}
      />
      <Table
        title="Events"
        headers={['Ago', 'Type', 'Reason', 'Note']}
        rows={events
          .slice(-30)
          .reverse()
          .map(({ at, type, reason, note, count }) => [
            ...[since(at, now.value), type, reason, count > 1 ? `${note} (${count} times)` : note],
          ])}
        empty={own?.noEvents ?? (own ? 'No events in the last hour.' : 'Loading…')}
      />
      <section>
        <details>
          <summary>
            <h3>YAML</h3>
          </summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it. */}
          <pre tabIndex={0}>{own ? visibleText(own.yaml) : id === row.id ? problem : 'Loading…'}</pre>
        </details>
      </section>
    </div>
  );
}

function idleText({ state, next }: FleetRow): string {
  if (next !== undefined) return visibleText(next.title);
  if (state.tone === 'off') return 'Nothing until a person changes it.';
  return 'Nothing is planned: it stays as it is.';
}

interface TableProps extends ReportTable {
  readonly empty?: string;
}

function Table({ title, headers: all, rows: whole, empty }: TableProps) {
  if (whole.length === 0 && empty === undefined) return null;
  const isUsed = all.map((_, at) => whole.some((line) => (line[at] ?? '') !== ''));
  const headers = all.filter((_, at) => isUsed[at]);
  const cells = whole.map((line) => line.filter((_, at) => isUsed[at]));
  return (
    <section>
      <h3>{title}</h3>
      {cells.length === 0 ? (
        <p class="muted">{empty}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it.
        <div class="scroll" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead>
              <tr>
                {headers.map((header) => (
                  <th key={header} scope="col">
                    {header}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {cells.map((line) => (
                <tr key={line.join('\0')}>
                  {line.map((cell, at) => (
                    <td key={headers[at]} class={at === line.length - 1 ? 'wide' : ''}>
                      <LongText text={cell} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
