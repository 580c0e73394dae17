/** Work that arrived at one time while no worker was ready. */
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

/** Returns the wait of the oldest work; 0 if the queue is empty. */
export function oldestWaitMs(queue: FrontQueue, now: number): number {
  const [oldest] = queue;
  return oldest ? now - oldest.at : 0;
}

export function joined(queue: FrontQueue, batch: Batch): FrontQueue {
  return batch.amount > 0 ? [...queue, batch] : queue;
}

/** Removes an amount of work, oldest first. `waited` is the waiting time of the removed work, in units × seconds. */
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

/** Removes work that has reached the maximum wait. */
export function withoutExpired(
  queue: FrontQueue,
  now: number,
  maxSeconds: number,
): { readonly queue: FrontQueue; readonly expired: number } {
  const kept = queue.filter(({ at }) => now - at < maxSeconds * 1000);
  return { queue: kept, expired: amountOf(queue.slice(0, queue.length - kept.length)) };
}

/** Capacity of a worker, the span, and the maximum wait at which it accepts work. Work units, seconds. */
export interface ServeOptions {
  /** Work per second. */
  readonly perf: number;
  readonly seconds: number;
  readonly maxQueueSeconds: number;
}

export interface Served {
  /** Unfinished work. */
  readonly queue: number;
  readonly done: number;
  readonly rejected: number;
}

/**
 * Serves work that is offered evenly over a span. The worker accepts work while its wait is at most the maximum, and
 * rejects the rest.
 */
export function serve(queue: number, offered: number, options: ServeOptions): Served {
  const able = options.perf * options.seconds;
  const room = Math.max(0, options.perf * options.maxQueueSeconds + able - queue);
  const accepted = Math.min(offered, room);
  const done = Math.min(queue + accepted, able);
  return { queue: queue + accepted - done, done, rejected: offered - accepted };
}

/** Worker with its unfinished work and its work per second. */
export interface Server {
  /** Accepted, unfinished work. */
  readonly queue: number;
  /** Work per second. */
  readonly perf: number;
}

/**
 * Spreads work by sending each request to the worker with the shortest wait. Returns the share of each worker in the
 * given order. The shares add up to `amount`, except for rounding.
 */
export function spreadWork(servers: readonly Server[], amount: number): readonly number[] {
  if (amount === 0) return servers.map(() => 0);
  const level = waitLevel(servers, amount);
  return servers.map(({ queue, perf }) => Math.max(0, level * perf - queue));
}

/** Returns the wait in seconds to which the workers are filled. */
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
