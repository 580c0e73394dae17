import { FEED_EVENTS, type FeedChange, type FeedStatus, PAGE_HEADER, PATHS } from '../protocol.ts';
import { link, receiveChange, receiveStatus } from './store.ts';

/** Exchanges the token of the URL for a cookie, and removes it from the URL and the history. */
export async function openSession(): Promise<void> {
  const token = window.location.hash.slice(1);
  if (token === '') return;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  await fetch(PATHS.session, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [PAGE_HEADER]: '1' },
    body: JSON.stringify({ token }),
  }).catch(() => undefined);
}

/** Follows the stream of the process. The browser connects again by itself unless the process refuses. */
export function followStream(): void {
  const source = new EventSource(PATHS.stream);
  source.addEventListener('open', () => {
    link.value = 'open';
  });
  source.addEventListener(FEED_EVENTS.status, ({ data }: MessageEvent<string>) => {
    receiveStatus(JSON.parse(data) as FeedStatus);
  });
  source.addEventListener(FEED_EVENTS.change, ({ data }: MessageEvent<string>) => {
    receiveChange(JSON.parse(data) as FeedChange);
  });
  source.addEventListener('error', () => {
    if (source.readyState !== EventSource.CLOSED) {
      link.value = 'lost';
      return;
    }
    // A refusal and an end of the process look alike: a request tells them apart.
    source.close();
    distinguish().catch(() => undefined);
  });
}

async function distinguish(): Promise<void> {
  const reply = await fetch(PATHS.object).catch(() => undefined);
  link.value = reply?.status === 401 ? 'refused' : 'lost';
  if (link.value === 'lost') setTimeout(followStream, 2_000);
}
