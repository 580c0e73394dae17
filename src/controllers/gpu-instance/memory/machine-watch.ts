import type { GpuInstanceStatus } from '../../../api/v1alpha1/gpu-instance.ts';
import { isFailing } from '../../../instance/status-class.ts';
import { parseTime } from '../../../lib/time.ts';
import type { Instance } from '../../../marketplace/instances/instance.ts';
import { wordOf } from '../machine-fields.ts';
import type { MemoryView } from '../views.ts';
import type { SteadyClock } from './steady-clock.ts';

/** One look at the recorded machine. */
export interface MachineSight {
  readonly status: GpuInstanceStatus | undefined;
  /** As the latest complete list shows it; undefined where it does not, or there is none yet. */
  readonly row: Instance | undefined;
  readonly steady: SteadyClock;
}

/**
 * Since when this process has seen what of the present machine, in steady time: a wall clock that is wrong after a
 * restart must not make a machine lost that has only just turned bad.
 */
export class MachineWatch {
  #holding:
    | { readonly instanceId: number; readonly since: number; readonly watchedSince: number }
    | undefined;
  #progressOnRecord: Translated | undefined;
  #badEndedAt: number | undefined;
  #seenWord: { readonly word: string; readonly since: number } | undefined;
  #progress: { readonly text: string | undefined; readonly at: number } | undefined;

  look({ status, row, steady }: MachineSight): void {
    this.#held(status, steady);
    this.#progressOnRecord = translated(this.#progressOnRecord, status?.progressAt, steady);
    if (row) this.#seeRow(row, status, steady);
  }

  /** The machine is gone; the next one is another. */
  ended(): void {
    this.#seenWord = undefined;
    this.#progress = undefined;
    this.#badEndedAt = undefined;
  }

  view(): Pick<
    MemoryView,
    'heldSince' | 'watchedSince' | 'badEndedAt' | 'seenWord' | 'progress' | 'progressOnRecord'
  > {
    return {
      heldSince: this.#holding?.since,
      watchedSince: this.#holding?.watchedSince,
      badEndedAt: this.#badEndedAt,
      seenWord: this.#seenWord,
      progress: this.#progress,
      progressOnRecord: this.#progressOnRecord?.at,
    };
  }

  #held(status: GpuInstanceStatus | undefined, steady: SteadyClock): void {
    const { instanceId, conditions } = status ?? {};
    if (instanceId === undefined) this.#holding = undefined;
    else if (this.#holding?.instanceId !== instanceId) {
      const rented = conditions?.find(({ type }) => type === 'Rented')?.lastTransitionTime;
      // One that follows another without a pause: its object has been Rented since the first of them.
      const since = this.#holding ? steady.now() : sinceText(rented, steady);
      this.#holding = { instanceId, since, watchedSince: steady.now() };
    }
  }

  #seeRow(row: Instance, status: GpuInstanceStatus | undefined, steady: SteadyClock): void {
    const word = wordOf(row);
    if (this.#seenWord?.word !== word) this.#newWord(word, status, steady);
    if (this.#progress?.text === row.statusMessage) return;
    const at = this.#progress ? steady.now() : Number.NEGATIVE_INFINITY;
    this.#progress = { text: row.statusMessage, at };
  }

  #newWord(word: string, status: GpuInstanceStatus | undefined, steady: SteadyClock): void {
    const before = this.#seenWord?.word;
    const isBad = isFailing(word);
    if (isFailing(before) && !isBad) this.#badEndedAt = steady.now();
    const isOnRecord = before === undefined && status?.actualStatus === word && !isBad;
    this.#seenWord = { word, since: isOnRecord ? sinceText(status.actualStatusSince, steady) : steady.now() };
  }
}

/** A time of the record, and what it was in steady time when this process first read it. */
interface Translated {
  readonly text: string;
  readonly at: number;
}

function translated(
  known: Translated | undefined,
  text: string | undefined,
  steady: SteadyClock,
): Translated | undefined {
  if (text === undefined) return undefined;
  return known?.text === text ? known : { text, at: sinceText(text, steady) };
}

function sinceText(text: string | undefined, steady: SteadyClock): number {
  const wall = parseTime(text);
  return wall === undefined ? steady.now() : steady.fromWall(wall);
}
