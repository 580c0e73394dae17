import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { loadKubeConnection } from '../../src/runtime/kube/kube-config.ts';
import { watchEvents } from '../../src/runtime/list-watch/watch-events.ts';
import { widgets } from '../builders/widgets.ts';

type ErrorClass = abstract new (...args: never[]) => Error;

/** Rejects where reading failed in a way that callers do not expect. */
async function expecting(classes: readonly ErrorClass[], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!classes.some((each) => error instanceof each)) throw error;
  }
}

/** Reads the text as the body of a watch, in three chunks. */
export function eventsOf(text: string, refusals: readonly ErrorClass[]): Promise<void> {
  const bytes = Buffer.from(text);
  const third = Math.ceil(bytes.length / 3);
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += third) yield bytes.subarray(at, at + third);
  }
  const stream = async () => ({ status: 200, headers: {}, body: body(), destroy() {} });
  return expecting(refusals, async () => {
    const events = watchEvents({ stream }, systemClock, {
      resource: widgets,
      query: {},
      timeoutSeconds: 300,
      signal: new AbortController().signal,
      onContact() {},
    });
    for await (const event of events) {
      if (event.type !== 'bookmark' && event.object.metadata === undefined)
        throw new Error('an object without metadata came out');
    }
  });
}

/** Reads the text as a kubeconfig. One that names a program is passed by: it would be run. */
export function connectionOf(text: string, refusals: readonly ErrorClass[]): Promise<void> {
  if (/exec|auth-provider|command/.test(text)) return Promise.resolve();
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-kubeconfig-'));
  const kubeconfig = join(folder, 'config');
  writeFileSync(kubeconfig, text);
  return expecting(refusals, async () => {
    const { origin } = await loadKubeConnection({ kubeconfig, environment: {}, clock: systemClock });
    new URL(origin);
  }).finally(() => rmSync(folder, { recursive: true, force: true }));
}
