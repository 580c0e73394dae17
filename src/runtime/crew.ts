import { inBackground } from '../lib/background.ts';

/** Who takes keys and works on them. */
export interface CrewOptions {
  /** Keys worked on at the same time; those whose pass stands aside do not count. */
  readonly size: number;
  /** The next key, once there is one; undefined when there will be none any more. */
  readonly take: () => Promise<string | undefined>;
  /** Works on a key. Never rejects. */
  readonly pass: (key: string) => Promise<void>;
  /** Told how many keys are worked on, at each change. */
  readonly onBusy: (count: number) => void;
  /** Told of an error that is no end of a pass: of `take`, or of a `pass` that rejected after all. The crew goes on. */
  readonly onError: (error: unknown) => void;
}

/**
 * Works on so many keys at a time. A pass that waits long for something outside may stand aside: another key is taken
 * in its place, and it goes on before the next key is taken. What many wait for then holds up nobody else.
 */
export class Crew {
  readonly #options: CrewOptions;
  /** Those at work and those that wait for a key; not those that stand aside. */
  #hands = 0;
  #busy = 0;
  #ended = false;
  readonly #returning: (() => void)[] = [];

  constructor(options: CrewOptions) {
    this.#options = options;
  }

  /** Begins to take keys; to be called once. */
  start(): void {
    while (this.#hands < this.#options.size) this.#hire();
  }

  /** Waits for `wait` on behalf of a pass without holding its place. Resolves or rejects as it does, once there is a place again. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    this.#hands--;
    this.#atWork(-1);
    this.#fillPlace();
    try {
      return await wait();
    } finally {
      await this.#place();
    }
  }

  #hire(): void {
    this.#hands++;
    inBackground(
      { task: 'controller worker' },
      () => this.#work(),
      (error) => {
        this.#hands--;
        this.#options.onError(error);
      },
    );
  }

  async #work(): Promise<void> {
    do {
      const key = await this.#options.take();
      if (key === undefined) {
        this.#ended = true;
        break;
      }
      await this.#placeForKey();
      this.#fillPlace();
      await this.#options.pass(key).catch(this.#options.onError);
      this.#atWork(-1);
    } while (!this.#isOneTooMany());
    this.#hands--;
    this.#fillPlace();
  }

  /** Who waited for a key may find that passes which came back meanwhile have all places. */
  async #placeForKey(): Promise<void> {
    this.#hands--;
    await this.#place();
  }

  /** Whether somebody else has, or waits for, the place of a pass that ended. */
  #isOneTooMany(): boolean {
    return this.#returning.length > 0 || this.#hands > this.#options.size;
  }

  /** A place is free: for a pass that waits to go on, else for a key where nobody is there to take one. */
  #fillPlace(): void {
    if (this.#busy >= this.#options.size) return;
    const next = this.#returning.shift();
    if (next) next();
    else if (!this.#ended && this.#hands < this.#options.size && this.#hands === this.#busy) this.#hire();
  }

  #place(): Promise<void> {
    if (this.#busy < this.#options.size) {
      this.#comeBack();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#returning.push(() => {
        this.#comeBack();
        resolve();
      });
    });
  }

  #comeBack(): void {
    this.#hands++;
    this.#atWork(1);
  }

  #atWork(change: number): void {
    this.#busy += change;
    this.#options.onBusy(this.#busy);
  }
}
