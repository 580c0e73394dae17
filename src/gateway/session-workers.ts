/** Number of remembered sessions, the most recently used ones. */
const MAX_SESSIONS = 10_000;

/** A worker for sessions. */
interface Home {
  readonly name: string;
  /** {@link hashOf} its name. */
  readonly hash: number;
}

/**
 * Assigns sessions to workers. The first worker follows from the names alone (rendezvous hashing), so that all pickers
 * choose the same and a change of workers moves as few sessions as possible; afterwards it is the worker that last
 * served the session.
 */
export class SessionWorkers {
  /** Sessions in the order of their last use. */
  readonly #workers = new Map<string, string>();

  /** Returns the worker of a session among the ready ones; undefined if there is none. */
  of<T extends Home>(session: string, ready: readonly T[]): T | undefined {
    const name = this.#workers.get(session);
    return ready.find((worker) => worker.name === name) ?? homeOf(session, ready);
  }

  /** Assigns the session to this worker. */
  set(session: string, worker: string): void {
    this.#workers.delete(session);
    this.#workers.set(session, worker);
    if (this.#workers.size <= MAX_SESSIONS) return;
    const [first] = this.#workers.keys();
    if (first !== undefined) this.#workers.delete(first);
  }
}

function homeOf<T extends Home>(session: string, ready: readonly T[]): T | undefined {
  const hash = hashOf(session);
  let best: T | undefined;
  let highest = -1;
  for (const worker of ready) {
    const score = mixed(hash ^ worker.hash);
    if (score < highest || (score === highest && best && best.name < worker.name)) continue;
    best = worker;
    highest = score;
  }
  return best;
}

/** Returns the 32-bit FNV-1a hash over UTF-16 units. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** Returns the finalizer of MurmurHash3: each bit of the input changes half of those of the output. */
function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
