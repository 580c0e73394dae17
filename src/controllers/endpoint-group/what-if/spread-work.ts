/** A worker as work is spread: what is in it, and what it does per second. */
export interface Server {
  /** Work taken and not done. */
  readonly queue: number;
  /** Work per second. */
  readonly perf: number;
}

/**
 * How work spreads where each request goes to the worker at which it waits least. Returns the share of each, in the
 * order given; the shares add up to `amount` but for rounding.
 */
export function spreadWork(servers: readonly Server[], amount: number): readonly number[] {
  if (amount === 0) return servers.map(() => 0);
  const level = waitLevel(servers, amount);
  return servers.map(({ queue, perf }) => Math.max(0, level * perf - queue));
}

/** The wait in seconds up to which each worker is filled, as water finds its level. */
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
