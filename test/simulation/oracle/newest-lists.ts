import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Machine } from '../machine.ts';
import { isObject, listAt } from '../memory-kube/json.ts';

/** A process has this long to heed what it has read. */
const HEEDED_MS = 1_000;

interface Newest {
  readonly running: ReadonlySet<number>;
  readonly readAt: number;
}

/** What the newest complete list shows that each process has read with each key, whatever the ledger says. */
export class NewestLists {
  readonly #now: () => number;
  readonly #byReader = new WeakMap<Machine, Map<string, Newest>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A process has read the whole answer to its call for a list. One that is damaged or partial shows nothing. */
  read(machine: Machine, request: TransportRequest, body: string): void {
    const running = runningIn(body);
    if (!running) return;
    const ofMachine = this.#byReader.get(machine) ?? new Map<string, Newest>();
    ofMachine.set(keyOf(request), { running, readAt: this.#now() });
    this.#byReader.set(machine, ofMachine);
  }

  /** Whether a process that sends that request has to know that a machine runs. */
  showRunning(machine: Machine, request: TransportRequest, id: number): boolean {
    const newest = this.#byReader.get(machine)?.get(keyOf(request));
    return newest?.running.has(id) === true && this.#now() - newest.readAt >= HEEDED_MS;
  }
}

const keyOf = ({ headers }: TransportRequest): string => headers?.['authorization'] ?? '';

function runningIn(body: string): ReadonlySet<number> | undefined {
  const reply = readJson(body);
  if (!isObject(reply)) return undefined;
  const rows = listAt(reply, 'instances').filter(isObject);
  if (rows.length === 0 || rows.length !== reply['instances_found']) return undefined;
  return new Set(rows.filter((row) => row['actual_status'] === 'running').map(({ id }) => Number(id)));
}

function readJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
