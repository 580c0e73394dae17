import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Machine } from '../machine.ts';
import { isObject, listAt } from '../memory-kube/json.ts';

/** A process has this long to heed what it has read. */
const HEEDED_MS = 1_000;

/** What a complete list shows: the status and the label of each machine, by id. */
export type ShownList = ReadonlyMap<number, { readonly status: unknown; readonly label: unknown }>;

interface Newest {
  readonly shown: ShownList;
  readonly readAt: number;
}

/** What the newest complete list shows that each process has read with each key, whatever the ledger says. */
export class NewestLists {
  readonly #now: () => number;
  readonly #byReader = new WeakMap<Machine, Map<string, Newest>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A process has read the whole answer to its call for a list. One that is damaged, partial or empty shows nothing. */
  read(machine: Machine, request: TransportRequest, shown: ShownList | undefined): void {
    if (!shown || shown.size === 0) return;
    const ofMachine = this.#byReader.get(machine) ?? new Map<string, Newest>();
    ofMachine.set(keyOf(request), { shown, readAt: this.#now() });
    this.#byReader.set(machine, ofMachine);
  }

  /** Whether a process that sends that request has to know that a machine runs. */
  showRunning(machine: Machine, request: TransportRequest, id: number): boolean {
    const newest = this.#byReader.get(machine)?.get(keyOf(request));
    return newest?.shown.get(id)?.status === 'running' && this.#now() - newest.readAt >= HEEDED_MS;
  }
}

const keyOf = ({ headers }: TransportRequest): string => headers?.['authorization'] ?? '';

/** What a reply to a call for a list shows; undefined if it is damaged or partial. */
export function shownBy(body: string): ShownList | undefined {
  const reply = readJson(body);
  if (!isObject(reply) || !Array.isArray(reply['instances'])) return undefined;
  const rows = listAt(reply, 'instances').filter(isObject);
  if (rows.length !== reply['instances'].length || rows.length !== reply['instances_found']) return undefined;
  return new Map(
    rows.map((row) => [Number(row['id']), { status: row['actual_status'], label: row['label'] }]),
  );
}

function readJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
