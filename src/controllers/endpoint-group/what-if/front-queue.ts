/** Work that arrived at one time and found no ready worker. */
interface Batch {
  /** Milliseconds. */
  readonly at: number;
  readonly amount: number;
}

/** Work that waits in front of a group which has no ready worker, oldest first. */
export type FrontQueue = readonly Batch[];

export function amountOf(queue: FrontQueue): number {
  return queue.reduce((sum, { amount }) => sum + amount, 0);
}

/** How long its oldest work has waited. */
export function oldestWaitMs(queue: FrontQueue, now: number): number {
  const [oldest] = queue;
  return oldest ? now - oldest.at : 0;
}

export function joined(queue: FrontQueue, batch: Batch): FrontQueue {
  return batch.amount > 0 ? [...queue, batch] : queue;
}

/** Takes so much work out of it, oldest first; `waited` is units × seconds that this work has stood there. */
export function taken(
  queue: FrontQueue,
  wanted: number,
  now: number,
): { readonly queue: FrontQueue; readonly waited: number } {
  let rest = wanted;
  let waited = 0;
  const left = queue.flatMap((batch): FrontQueue => {
    const amount = Math.min(rest, batch.amount);
    rest -= amount;
    waited += (amount * (now - batch.at)) / 1000;
    return batch.amount > amount ? [{ ...batch, amount: batch.amount - amount }] : [];
  });
  return { queue: left, waited };
}

/** Lets go of what has waited for as long as anything may. */
export function withoutExpired(
  queue: FrontQueue,
  now: number,
  mostSeconds: number,
): { readonly queue: FrontQueue; readonly expired: number } {
  const kept = queue.filter(({ at }) => now - at < mostSeconds * 1000);
  return { queue: kept, expired: amountOf(queue.slice(0, queue.length - kept.length)) };
}
