/** Sessions that are remembered: those that were asked for last. */
const MAX_SESSIONS = 10_000;

/** A worker that sessions may go to. */
interface Home {
  readonly name: string;
  /** {@link hashOf} its name. */
  readonly hash: number;
}

/**
 * Which worker a session goes to. The first one follows from the names alone (rendezvous hashing), so that all pickers
 * choose the same and a worker that comes or goes moves as few sessions as can be; later it is the one that had the session
 * last.
 */
export class SessionWorkers {
  /** In the order in which they were asked for. */
  readonly #workers = new Map<string, string>();

  /** The worker of a session among those that are ready; undefined where there is none. */
  of<T extends Home>(session: string, ready: readonly T[]): T | undefined {
    const name = this.#workers.get(session);
    return ready.find((worker) => worker.name === name) ?? homeOf(session, ready);
  }

  /** From now on it goes there. */
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

/** FNV-1a of 32 bits, over UTF-16 units. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** The finalizer of MurmurHash3: each bit of the input changes half of those of the output. */
function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
