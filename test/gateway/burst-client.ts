import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Connections that a client opens at once, each with a request. */
export interface Burst {
  readonly port: number;
  readonly path: string;
  /** Address of the client. */
  readonly localAddress: string;
  readonly connections: number;
  /** Number of bursts that the client opens and resets, one after the other; 0: it opens one and keeps it. */
  readonly resets: number;
}

export interface BurstClient {
  /** Replies so far. */
  readonly replies: readonly string[];
  /** Closes all connections. */
  end(): Promise<unknown>;
}

/** Starts the burst in a thread. Resolves at once for a burst that is kept, else after the last reset. */
export async function burstClient(burst: Burst): Promise<BurstClient> {
  const thread = new Worker(new URL('./burst-thread.ts', import.meta.url), { workerData: burst });
  const replies: string[] = [];
  thread.on('message', (reply: string) => replies.push(reply));
  if (burst.resets > 0) await once(thread, 'exit');
  return { replies, end: () => thread.terminate() };
}
