/** A worker that takes work while the wait before it is within bounds. Work units, seconds. */
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
 * What becomes of work offered evenly over a span: the worker does what it can, keeps what may wait, and turns the
 * rest away. It takes work while the wait before it is at most the maximum.
 */
export function serve(queue: number, offered: number, options: ServeOptions): Served {
  const able = options.perf * options.seconds;
  const room = Math.max(0, options.perf * options.maxQueueSeconds + able - queue);
  const taken = Math.min(offered, room);
  const done = Math.min(queue + taken, able);
  return { queue: queue + taken - done, done, rejected: offered - taken };
}
