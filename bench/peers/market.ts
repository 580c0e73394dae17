import { fork } from 'node:child_process';
import { join } from 'node:path';

/** Settings of a run's marketplace. */
export interface MarketOptions {
  readonly offers: number;
  readonly roundTripMs: number;
  readonly rateLimits: boolean;
  readonly bootScale: number;
}

/** A machine that bills. Times are of the simulator's clock, in milliseconds since the epoch. */
export interface LiveMachine {
  readonly id: number;
  readonly label: string;
  readonly createdAt: number;
}

/** Facts that the marketplace records about a run, which no contender writes. */
export interface MarketState {
  /** Number of requests by kind: list, get, search, rent, destroy, other. */
  readonly requests: Readonly<Record<string, number>>;
  readonly tooManyRequests: number;
  readonly maxRentsInFlight: number;
  readonly lastDestroyAt: number | undefined;
  readonly live: readonly LiveMachine[];
  readonly ended: number;
}

export type MarketCommand =
  | { readonly type: 'open'; readonly options: MarketOptions }
  | { readonly type: 'state' }
  | { readonly type: 'requests' }
  | { readonly type: 'fault'; readonly fault: Readonly<Record<string, unknown>> }
  | { readonly type: 'close' };

export type MarketReply = { readonly id: number; readonly value?: unknown; readonly error?: string };

/** The simulator in a process of its own. */
export interface Market {
  readonly pid: number;
  /** Replaces the marketplace with a new one. */
  open(options: MarketOptions): Promise<{ readonly url: string; readonly apiKey: string }>;
  state(): Promise<MarketState>;
  /** Returns only the counters of {@link state}, which is cheap. */
  requests(): Promise<Readonly<Record<string, number>>>;
  fault(fault: Readonly<Record<string, unknown>>): Promise<void>;
  stop(): void;
}

/** Starts the process; it ends with this one. */
export function startMarket(): Market {
  const child = fork(join(import.meta.dirname, 'market-process.ts'), { execArgv: [] });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  child.on('message', ({ id, value, error }: MarketReply) => {
    const reply = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) reply?.resolve(value);
    else reply?.reject(new Error(error));
  });
  child.once('exit', (code, signal) => {
    const error = new Error(`The process of the simulator ended (${signal ?? code}).`);
    for (const reply of waiting.values()) reply.reject(error);
    waiting.clear();
  });
  const send = <T>(command: MarketCommand): Promise<T> => {
    lastId += 1;
    const reply = Promise.withResolvers<unknown>();
    waiting.set(lastId, reply);
    child.send({ id: lastId, command }, (error) => {
      if (error !== null) reply.reject(error);
    });
    return reply.promise as Promise<T>;
  };
  return {
    pid: child.pid ?? 0,
    open: (options) => send({ type: 'open', options }),
    state: () => send({ type: 'state' }),
    requests: () => send({ type: 'requests' }),
    fault: (fault) => send({ type: 'fault', fault }),
    stop: () => void child.kill(),
  };
}
