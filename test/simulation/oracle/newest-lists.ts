import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Machine } from '../machine.ts';
import { isObject, listAt } from '../memory-kube/json.ts';

/** A process has this long to heed what it has read. */
const HEEDED_MS = 1_000;

/** Content of a complete list about one machine. */
interface ShownMachine {
  readonly status: unknown;
  readonly label: unknown;
  readonly utilization?: unknown;
}

/** Content of a complete list, by id. */
export type ShownList = ReadonlyMap<number, ShownMachine>;

interface Newest {
  readonly shown: ShownList;
  readonly readAt: number;
}

/** Content of the newest complete list that each process has read with each key, whatever the ledger contains. */
export class NewestLists {
  readonly #now: () => number;
  readonly #byReader = new WeakMap<Machine, Map<string, Newest>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Records a complete answer to a list call. A damaged, partial or empty one shows nothing. */
  read(machine: Machine, request: TransportRequest, shown: ShownList | undefined): void {
    if (!shown || shown.size === 0) return;
    const ofMachine = this.#byReader.get(machine) ?? new Map<string, Newest>();
    ofMachine.set(keyOf(request), { shown, readAt: this.#now() });
    this.#byReader.set(machine, ofMachine);
  }

  /** Returns true if a process that sends that request must know that a machine runs. */
  showRunning(machine: Machine, request: TransportRequest, id: number): boolean {
    const newest = this.#byReader.get(machine)?.get(keyOf(request));
    return newest?.shown.get(id)?.status === 'running' && this.#now() - newest.readAt >= HEEDED_MS;
  }
}

const keyOf = ({ headers }: TransportRequest): string => headers?.['authorization'] ?? '';

/** Returns the content of a list reply; undefined if it is damaged or partial. */
export function shownBy(body: string): ShownList | undefined {
  const reply = readJson(body);
  if (!isObject(reply) || !Array.isArray(reply['instances'])) return undefined;
  const rows = listAt(reply, 'instances').filter(isObject);
  if (rows.length !== reply['instances'].length || rows.length !== reply['instances_found']) return undefined;
  return new Map(
    rows.map(({ id, actual_status: status, label, gpu_util: utilization }) => [
      Number(id),
      { status, label, utilization },
    ]),
  );
}

function readJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
