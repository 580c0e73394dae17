import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { isUp } from '../../instance/machine-state.ts';
import { fuseFiles, LIST_COMMAND } from '../../instance/self-end.ts';
import { inBackground } from '../../lib/background.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { Market } from '../../market/market.ts';
import type { SelfEndView } from './types.ts';

/**
 * Milliseconds from the time at which the machine is seen running to the first read, and from each read to the next.
 * The fuse tries its key for five minutes, after the service's own setup.
 */
const READS_AFTER_MS = [60_000, 180_000, 360_000];
/** Delay while the account has no session. */
const RETRY_MS = 60_000;

type CheckedMarket = Pick<Market, 'about' | 'runCommand'>;

interface Check {
  readonly instanceId: string;
  reads: number;
  timer: Timer | undefined;
  view: SelfEndView | undefined;
}

export interface SelfEndChecksOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Market of the account of the object; undefined while the account is not ready. */
  readonly marketOf: (object: GpuInstance) => CheckedMarket | undefined;
  readonly onChange: (key: string) => void;
}

/**
 * Determines once per machine whether it has shown that it can end itself. At most three reads; the last one settles
 * the answer. A failure only yields the answer `unread`. After a restart of the process it begins again, unless the
 * answer is recorded.
 */
export class SelfEndChecks {
  readonly #options: SelfEndChecksOptions;
  readonly #checks = new Map<string, Check>();

  constructor(options: SelfEndChecksOptions) {
    this.#options = options;
  }

  /** Returns the settled answer for the object's present machine; undefined if none is needed, or while it is open. */
  view(key: string, object: GpuInstance): SelfEndView | undefined {
    const instanceId = uncheckedMachine(object);
    if (instanceId === undefined) {
      this.forget(key);
      return undefined;
    }
    const known = this.#checks.get(key);
    if (known?.instanceId === instanceId) return known.view;
    this.forget(key);
    const check: Check = { instanceId, reads: 0, timer: undefined, view: undefined };
    this.#checks.set(key, check);
    this.#arm(key, { check, object }, READS_AFTER_MS[0]);
    return undefined;
  }

  forget(key: string): void {
    this.#checks.get(key)?.timer?.cancel();
    this.#checks.delete(key);
  }

  stop(): void {
    for (const key of [...this.#checks.keys()]) this.forget(key);
  }

  #arm(key: string, checked: Checked, delayMs = RETRY_MS): void {
    const read = () =>
      inBackground(
        { task: 'self-end check', object: key },
        () => this.#read(key, checked),
        (error) => {
          this.#options.log.error('Self-end check failed', { object: key, error });
          if (this.#isCurrent(key, checked)) this.#arm(key, checked);
        },
      );
    checked.check.timer = this.#options.clock.setTimer(delayMs, read, { background: true });
  }

  #isCurrent(key: string, { check }: Checked): boolean {
    return this.#checks.get(key) === check;
  }

  async #read(key: string, checked: Checked): Promise<void> {
    const { check, object } = checked;
    const market = this.#options.marketOf(object);
    if (!market) return this.#arm(key, checked);
    const seen = await readFiles(market, check.instanceId);
    if (!this.#isCurrent(key, checked)) return;
    // Many machines began at the same time, and the rate limit allowed no call for this one.
    if (seen.type === 'throttled') return this.#arm(key, checked, Math.max(RETRY_MS, seen.retryAfterMs));
    check.reads++;
    const isLast = check.reads >= READS_AFTER_MS.length;
    if (!isLast && !isFinal(seen)) return this.#arm(key, checked, READS_AFTER_MS[check.reads]);
    check.view = seen;
    this.#options.onChange(key);
  }
}

interface Checked {
  readonly check: Check;
  readonly object: GpuInstance;
}

/** Returns the machine that has a fuse and no settled proof; undefined if there is none, or before it runs. */
function uncheckedMachine({ metadata, status }: GpuInstance): string | undefined {
  const { selfEnd, instanceId } = status ?? {};
  if (selfEnd === undefined || selfEnd.checkedAt !== undefined) return undefined;
  return isUp(status) && metadata.deletionTimestamp === undefined ? instanceId : undefined;
}

/** Returns true if another read would have the same result. */
function isFinal(seen: SelfEndView): boolean {
  return seen.type === 'proven' || (seen.type === 'unread' && seen.isMarkets === true);
}

type Reading = SelfEndView | { readonly type: 'throttled'; readonly retryAfterMs: number };

async function readFiles(market: CheckedMarket, instanceId: string): Promise<Reading> {
  const { name, fileCommands } = market.about;
  const { programs = [], maxLength = 0 } = fileCommands ?? {};
  if (!market.runCommand || !programs.includes('ls') || LIST_COMMAND.length > maxLength) {
    return { type: 'unread', detail: `the market ${name} lists no files of machines`, isMarkets: true };
  }
  try {
    const files = fuseFiles(await market.runCommand(instanceId, LIST_COMMAND));
    return { type: files === 'proof' ? 'proven' : files };
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    if (error.kind === 'throttled') return { type: 'throttled', retryAfterMs: error.retryAfterMs ?? 0 };
    return { type: 'unread', detail: `its files could not be listed: ${error.message}` };
  }
}
