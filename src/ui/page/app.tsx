import { signal } from '@preact/signals';
import { visibleLine } from '../../views/visible-text.ts';
import { closeDetail } from './detail.tsx';
import { focusFilter } from './fleet.tsx';
import { cursor, focusList, moveCursor } from './fleet-table.tsx';
import { filter, opened, view } from './location.ts';
import { link, now, status } from './store.ts';
import { VIEWS } from './views.ts';

const isHelpOpen = signal(false);

type Theme = 'auto' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];
const STORED_THEME = 'gpu-rent-theme';
const theme = signal<Theme>(THEMES.find((each) => each === localStorage.getItem(STORED_THEME)) ?? 'auto');

function setTheme(next: Theme): void {
  theme.value = next;
  localStorage.setItem(STORED_THEME, next);
  showTheme();
}

/** Shows the theme that was chosen; `auto` follows the system. */
export function showTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === 'auto') delete dataset['theme'];
  else dataset['theme'] = theme.value;
}

/** Shows the page: head, view, notes about the connection. */
export function App() {
  if (link.value === 'refused') return <Refused />;
  const shown = VIEWS.find(({ id }) => id === view.value) ?? VIEWS[0];
  const { component: View } = shown;
  return (
    <>
      <header class="top">
        <h1>gpu-rent</h1>
        {VIEWS.length > 1 && <Navigation />}
        <Scope />
        <span class="grow" />
        <Pulse />
        <button
          type="button"
          class="small"
          title="Colours of the page"
          onClick={() => setTheme(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'auto')}
        >
          {{ auto: 'Auto', light: 'Light', dark: 'Dark' }[theme.value]}
        </button>
        <button type="button" class="small" title="Keys (?)" aria-expanded={isHelpOpen.value} onClick={toggleHelp}>
          ?
        </button>
      </header>
      <ConnectionNote />
      <main>
        <View />
      </main>
      {isHelpOpen.value && <Help />}
    </>
  );
}

function Navigation() {
  return (
    <nav>
      {VIEWS.map(({ id, title }) => (
        <button
          key={id}
          type="button"
          aria-current={view.value === id ? 'page' : undefined}
          onClick={() => (view.value = id)}
        >
          {title}
        </button>
      ))}
    </nav>
  );
}

function Scope() {
  const { cluster, namespace } = status.value ?? {};
  if (cluster === undefined) return null;
  return (
    <span class="scope">
      <bdi class="cut">{namespace === undefined ? 'All namespaces' : visibleLine(namespace)}</bdi>
      <bdi class="cut cluster">{visibleLine(cluster)}</bdi>
    </span>
  );
}

function clockText(epochMs: number): string {
  return new Date(epochMs).toLocaleTimeString([], { hour12: false });
}

function Pulse() {
  const { connection } = status.value ?? {};
  const isLive = link.value === 'open' && connection?.state === 'live';
  const text = isLive ? 'Live' : link.value === 'connecting' ? 'Connecting' : 'Not live';
  return (
    <span class={`pulse ${isLive ? 'live' : ''}`} role="status">
      {text}
    </span>
  );
}

/** Time of the last message of the process. */
const lastSeen = signal(0);

function ConnectionNote() {
  const current = status.value;
  if (link.value === 'open') lastSeen.value = now.peek();
  if (link.value === 'lost' || link.value === 'full')
    return (
      <p class="banner" role="alert">
        {link.value === 'full' ? 'Too many open pages.' : 'gpu-rent ui does not answer.'}
        {lastSeen.value > 0 && ` Data from ${clockText(lastSeen.value)}.`}
        {link.value === 'full'
          ? ' Close one; this page then continues.'
          : ' Reconnecting; if it has ended, start it again.'}
      </p>
    );
  const connection = current?.connection;
  if (connection === undefined || connection.state === 'live') return null;
  const from = `Data from ${clockText(connection.since)}.`;
  return (
    <p class={`banner ${connection.state}`} role="alert">
      {connection.state === 'expired'
        ? `${from} The cluster refuses your login: log in again in a terminal. If this page does not continue within a minute, start gpu-rent ui again.`
        : `${from} The API server does not answer; reconnecting.`}
      <bdi class="cause cut">{visibleLine(connection.message).slice(0, 300)}</bdi>
    </p>
  );
}

function Refused() {
  return (
    <div class="empty whole">
      <h1>gpu-rent</h1>
      <p>This tab needs the URL that gpu-rent ui printed, with the part after #: open that URL here.</p>
      <p class="muted">
        The URL ends with the process. If it has ended, start it again: <code>gpu-rent ui</code>
      </p>
    </div>
  );
}

function toggleHelp(): void {
  isHelpOpen.value = !isHelpOpen.value;
}

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'Filter'],
  ['j k ↓ ↑', 'Next and previous row'],
  ['Enter', 'Open or close the row'],
  ['Esc', 'Close, leave the filter'],
  ['?', 'This help'],
];

function Help() {
  return (
    <div class="help" role="dialog" aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([keys, text]) => (
          <div class="fact" key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">
        Filter: <code>state:running</code> <code>state:stuck</code> <code>ns:team</code> <code>gpu:4090</code>{' '}
        <code>kind:group</code> <code>label:team=ml</code>; <code>-word</code> excludes.
      </p>
      <button type="button" onClick={toggleHelp}>
        Close
      </button>
    </div>
  );
}

/** Actions by key, where no text is being written. */
const ACTIONS: Readonly<Record<string, () => void>> = {
  '/': focusFilter,
  '?': toggleHelp,
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  PageDown: () => step(10),
  PageUp: () => step(-10),
  Home: () => step(-100_000),
  End: () => step(100_000),
};

function step(by: number): void {
  moveCursor(by);
  focusList();
}

/** Handles a key of the whole page. */
export function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target instanceof HTMLElement ? event.target : document.body;
  if (event.key === 'Escape') return onEscape(target);
  if (target.matches('input, select, textarea')) {
    if (event.key === 'Enter' || (event.key === 'ArrowDown' && target.matches('input'))) step(1);
    return;
  }
  if (target.closest('.detail') && event.key !== '/' && event.key !== '?') return;
  if (event.key === 'Enter' && !target.matches('button, summary, a')) {
    if (cursor.value !== '') opened.value = opened.value === cursor.value ? '' : cursor.value;
    return;
  }
  const action = Object.hasOwn(ACTIONS, event.key) ? ACTIONS[event.key] : undefined;
  if (action === undefined) return;
  event.preventDefault();
  action();
}

function onEscape(target: HTMLElement): void {
  if (isHelpOpen.value) isHelpOpen.value = false;
  else if (target.matches('input')) {
    if (filter.value === '') focusList();
    filter.value = '';
  } else if (opened.value !== '') closeDetail();
}
