import { type FeedMessage, PAGE_HEADER, PATHS } from '../protocol.ts';
import { type Link, link, receiveChange, receiveStatus } from './store.ts';

/* The token stays in the storage of its tab, which no other port, site or tab reads. */

const STORED_TOKEN = 'gpu-rent-token';
const RETRY_MS = 1_000;

/** Moves the token of the URL to the storage of this tab. Returns false if the URL has none. */
export function openSession(): boolean {
  const token = window.location.hash.slice(1);
  if (token === '') return false;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  sessionStorage.setItem(STORED_TOKEN, token);
  return true;
}

/** Requests data of the process with the token of this tab. Rejects if the process does not answer. */
export function readData(path: string, signal?: AbortSignal): Promise<Response> {
  return fetch(path, {
    headers: { [PAGE_HEADER]: sessionStorage.getItem(STORED_TOKEN) ?? '' },
    ...{ credentials: 'omit', redirect: 'error' },
    ...(signal && { signal }),
  });
}

/**
 * Follows the stream of the process while the tab is visible: a browser has six connections for all tabs of an address, and
 * streams of hidden tabs would take them. Begins again when the person opens a printed URL in this tab.
 */
export function followStream(): void {
  let current = new AbortController();
  const follow = () => {
    current.abort();
    if (link.value !== 'refused') link.value = 'connecting';
    if (document.visibilityState === 'hidden') return;
    current = new AbortController();
    repeat(current.signal).catch(() => undefined);
  };
  document.addEventListener('visibilitychange', follow);
  window.addEventListener('hashchange', () => {
    if (openSession()) follow();
  });
  follow();
}

/** Reads the stream, again after it ends, until the process refuses the token. */
async function repeat(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const ended = await readStream(signal).catch((): Link => 'lost');
    if (signal.aborted) return;
    link.value = ended;
    if (ended === 'refused') return;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Reads the stream until it ends. Returns the state after it; rejects if the process does not answer. */
async function readStream(signal: AbortSignal): Promise<Link> {
  const { status, ok, body } = await readData(PATHS.stream, signal);
  if (status === 401 || status === 403) return 'refused';
  if (status === 503) return 'full';
  if (!ok || body === null) return 'lost';
  link.value = 'open';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  // The first line has all objects, and comes in many chunks.
  let line: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return 'lost';
    const [first = '', ...later] = value.split('\n');
    line.push(first);
    for (const next of later) {
      receive(JSON.parse(line.join('')) as FeedMessage);
      line = [next];
    }
  }
}

function receive(message: FeedMessage): void {
  if ('status' in message) receiveStatus(message.status);
  else receiveChange(message.change);
}
