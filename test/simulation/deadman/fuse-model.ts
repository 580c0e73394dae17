/*
 * Model of the fuse in virtual time: what the shell does that runs `fuseLine`. `fuse-model.test.ts` compares it with the
 * text itself in real shells, step by step. PURE but for the calls that it is given.
 */

/** A fuse as its text has it. */
export interface Fuse {
  /** Seconds of one sleep. */
  readonly sleepSeconds: number;
  /** Seconds that each sleep counts. */
  readonly lifeStep: number;
  readonly leaseStep: number;
  readonly lifeSeconds: number | undefined;
  readonly leaseSeconds: number | undefined;
  /** Count of the lease at each start. */
  readonly unarmed: number;
  /** True if a renewal starts the count of the lease again. */
  readonly isRenewable: boolean;
  /** True if a restart continues the count of the life. */
  readonly isKept: boolean;
  /** True if an end is repeated until it is accepted. */
  readonly isRepeated: boolean;
  /** Count until which the key is tried. */
  readonly probeSeconds: number;
  /** Count since a renewal at which the machine requests the next one; undefined if it requests none. */
  readonly reportSeconds: number | undefined;
  /** True if a reply without the proof of the machine renews nothing. */
  readonly isReplyProven: boolean;
  /** Host of its calls. */
  readonly host: string;
  readonly path: string;
}

/** Returns the fuse in a start text; undefined if it has none. */
export function fuseIn(text: string | null | undefined): Fuse | undefined {
  const find = (pattern: RegExp) => pattern.exec(text ?? '')?.[1];
  const number = (pattern: RegExp) => {
    const found = find(pattern);
    return found === undefined ? undefined : Number(found);
  };
  const lifeSeconds = number(/\[ \$n -lt (\d+) \]/);
  const leaseSeconds = number(/\[ \$i -lt (\d+) \]/);
  if (lifeSeconds === undefined && leaseSeconds === undefined) return undefined;
  return {
    ...{ lifeSeconds, leaseSeconds },
    sleepSeconds: number(/while sleep (\d+);/) ?? Number.NaN,
    lifeStep: number(/n=\$\(\(n\+(\d+)\)\)/) ?? Number.NaN,
    leaseStep: number(/i=\$\(\(i\+(\d+)\)\)/) ?? 0,
    unarmed: number(/ i=(-?\d+);/) ?? 0,
    isRenewable: / i=0;/.test(text ?? ''),
    isKept: /read -r n<t;/.test(text ?? ''),
    isRepeated: !/c DELETE '\{\}'\W*exit/.test(text ?? ''),
    probeSeconds: number(/\[ \$n -gt (\d+) \]/) ?? 0,
    reportSeconds: number(/\[ (\d+) -gt \$i \]/),
    isReplyProven: /LEASE_PROOF:\?\}:\$n\\""&&/.test(text ?? ''),
    host: find(/[; ]h=(\S+) p=/) ?? '',
    path: find(/ p=(\S+?);/) ?? '',
  };
}

/** The folder in which a fuse counts. A process keeps the one that it began in, also if that was deleted. */
export class FuseFolder {
  readonly #files = new Map<string, string>();
  #isDeleted = false;

  /** Returns the content of a file; undefined without it. */
  read(name: string): string | undefined {
    return this.#isDeleted ? undefined : this.#files.get(name);
  }

  write(name: string, text: string): void {
    if (!this.#isDeleted) this.#files.set(name, text);
  }

  /** Returns the names of its files. */
  names(): readonly string[] {
    return this.#isDeleted ? [] : [...this.#files.keys()];
  }

  delete(): void {
    this.#isDeleted = true;
  }
}

/** Sends a call with the machine's own key by one client. Resolves to true if the reply was a success. */
export type OwnKeyCall = (method: 'DELETE' | 'PUT', body: string) => Promise<boolean>;

/** Request of a machine for the renewal of its lease. */
export interface RenewalRequest {
  /** Seconds that the fuse has counted. */
  readonly count: number;
  /** Seconds since the last renewal, as the lease counts them. */
  readonly since: number;
}

/** Sends a request for a renewal, and writes the renewal if the reply is one. The fuse does not wait for it. */
export type RequestRenewal = (request: RenewalRequest) => void;

/** Process of a fuse: a start of the container. */
export class FuseProcess {
  readonly #fuse: Fuse;
  readonly #folder: FuseFolder;
  /** Number of clients in the image; each of them is tried. */
  readonly #clients: number;
  #count: number;
  #sinceRenewal: number;
  #renewal: string;
  #isOver = false;

  constructor(fuse: Fuse, folder: FuseFolder, clients: number) {
    this.#fuse = fuse;
    this.#sinceRenewal = fuse.unarmed;
    this.#folder = folder;
    this.#clients = clients;
    this.#count = fuse.isKept ? countIn(folder.read('t')) : 0;
    this.#renewal = substituted(folder.read('renew'));
  }

  /** Seconds that the fuse has counted, restarts included. */
  get count(): number {
    return this.#count;
  }

  /** Seconds since the last renewal, as the lease counts them; far below 0 before the first one of this start. */
  get sinceRenewal(): number {
    return this.#sinceRenewal;
  }

  /** True if the lease was renewed since this start. */
  get isArmed(): boolean {
    return this.#sinceRenewal >= 0;
  }

  /** True if the process has ended by itself. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Runs the step after a sleep. */
  async tick(call: OwnKeyCall, request?: RequestRenewal): Promise<void> {
    const { lifeSeconds, leaseSeconds, lifeStep, probeSeconds, reportSeconds } = this.#fuse;
    this.#count += lifeStep;
    this.#folder.write('t', `${this.#count}\n`);
    if (this.#folder.read('ok') === undefined && this.#count <= probeSeconds)
      if (await this.#call(call, 'PUT', '{"state":"running"}')) this.#folder.write('ok', '');
    if (leaseSeconds !== undefined) this.#readRenewal();
    if (reportSeconds !== undefined && (!this.isArmed || this.#sinceRenewal >= reportSeconds))
      request?.({ count: this.#count, since: this.#sinceRenewal });
    const isLifeOver = lifeSeconds !== undefined && this.#count >= lifeSeconds;
    const isLeaseOver = leaseSeconds !== undefined && this.#sinceRenewal >= leaseSeconds;
    if (!isLifeOver && !isLeaseOver) return;
    await this.#call(call, 'DELETE', '{}');
    this.#isOver = !this.#fuse.isRepeated;
  }

  #readRenewal(): void {
    const text = this.#folder.read('renew');
    if (text === undefined) return;
    this.#sinceRenewal += this.#fuse.leaseStep;
    const renewal = substituted(text);
    if (renewal === this.#renewal) return;
    this.#renewal = renewal;
    if (this.#fuse.isRenewable) this.#sinceRenewal = 0;
  }

  async #call(call: OwnKeyCall, method: 'DELETE' | 'PUT', body: string): Promise<boolean> {
    for (let client = 0; client < this.#clients; client += 1) if (await call(method, body)) return true;
    return false;
  }
}

/** Returns the count in the first line of `t`; 0 if it is no number of seconds. */
function countIn(text: string | undefined): number {
  const line = text?.split('\n')[0]?.replace(/^[ \t]+|[ \t]+$/g, '') ?? '';
  return /^\d+$/.test(line) ? Number(line) : 0;
}

/** Returns the value of `$(cat file)`. */
function substituted(text: string | undefined): string {
  return text?.replace(/\n+$/, '') ?? '';
}
