/** Work that arrived at one time without a ready worker. */
interface Batch {
  /** Milliseconds. */
  readonly at: number;
  readonly amount: number;
}

/** Waiting work of a group without a ready worker, oldest first. */
export type FrontQueue = readonly Batch[];

export function amountOf(queue: FrontQueue): number {
  return queue.reduce((sum, { amount }) => sum + amount, 0);
}

/** Returns the wait of its oldest work. */
export function oldestWaitMs(queue: FrontQueue, now: number): number {
  const [oldest] = queue;
  return oldest ? now - oldest.at : 0;
}

export function joined(queue: FrontQueue, batch: Batch): FrontQueue {
  return batch.amount > 0 ? [...queue, batch] : queue;
}

/** Takes an amount of work out of it, oldest first; `waited` is the units × seconds for which this work has waited. */
export function takenFrom(
  queue: FrontQueue,
  amount: number,
  now: number,
): { readonly queue: FrontQueue; readonly waited: number } {
  let rest = amount;
  let waited = 0;
  const left = queue.flatMap((batch): FrontQueue => {
    const amount = Math.min(rest, batch.amount);
    rest -= amount;
    waited += (amount * (now - batch.at)) / 1000;
    return batch.amount > amount ? [{ ...batch, amount: batch.amount - amount }] : [];
  });
  return { queue: left, waited };
}

/** Drops work that has waited for the maximum. */
export function withoutExpired(
  queue: FrontQueue,
  now: number,
  mostSeconds: number,
): { readonly queue: FrontQueue; readonly expired: number } {
  const kept = queue.filter(({ at }) => now - at < mostSeconds * 1000);
  return { queue: kept, expired: amountOf(queue.slice(0, queue.length - kept.length)) };
}

/** A worker that accepts work while its wait is within limits. Work units, seconds. */
export interface ServeOptions {
  /** Work per second. */
  readonly perf: number;
  readonly seconds: number;
  readonly maxQueueSeconds: number;
}

export interface Served {
  /** Work that is still in the worker. */
  readonly queue: number;
  readonly done: number;
  readonly rejected: number;
}

/**
 * Serves work offered evenly over a span: the worker does what it can, keeps what may wait, and rejects the rest. It
 * accepts work while its wait is at most the maximum.
 */
export function serve(queue: number, offered: number, options: ServeOptions): Served {
  const able = options.perf * options.seconds;
  const room = Math.max(0, options.perf * options.maxQueueSeconds + able - queue);
  const taken = Math.min(offered, room);
  const done = Math.min(queue + taken, able);
  return { queue: queue + taken - done, done, rejected: offered - taken };
}

/** A worker with its work and its work per second. */
export interface Server {
  /** Accepted work that is not done. */
  readonly queue: number;
  /** Work per second. */
  readonly perf: number;
}

/**
 * Spreads work by sending each request to the worker with the shortest wait. Returns the share of each, in the given
 * order; the shares add up to `amount` except for rounding.
 */
export function spreadWork(servers: readonly Server[], amount: number): readonly number[] {
  if (amount === 0) return servers.map(() => 0);
  const level = waitLevel(servers, amount);
  return servers.map(({ queue, perf }) => Math.max(0, level * perf - queue));
}

/** Returns the wait in seconds up to which each worker is filled. */
function waitLevel(servers: readonly Server[], amount: number): number {
  if (servers.every(({ queue }) => queue === 0))
    return amount / servers.reduce((sum, { perf }) => sum + perf, 0);
  const byWait = servers
    .map(({ queue, perf }) => ({ queue, perf, wait: queue / perf }))
    .sort((a, b) => a.wait - b.wait);
  let filled = amount;
  let perfs = 0;
  let level = 0;
  for (const [index, { queue, perf }] of byWait.entries()) {
    filled += queue;
    perfs += perf;
    level = filled / perfs;
    if (level <= (byWait[index + 1]?.wait ?? level)) break;
  }
  return level;
}
