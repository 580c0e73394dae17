import { closeSync, constants, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ClientName, Container, ended, programPath, type ShellName } from './container.ts';

const POLL_MS = 2;
/** A busy machine may run these processes seldom. */
const PATIENCE_MS = 60_000;

/** A container whose fuses sleep until they are woken: as slow as the test, and as fast. */
export class LockstepContainer {
  readonly #container: Container;
  readonly #sleepers: string;
  #woken = 0;

  constructor(clients: readonly ClientName[]) {
    this.#container = new Container(clients);
    this.#sleepers = join(this.#container.folder, 'sleepers');
    const gate = join(this.#container.folder, 'gate');
    const mkfifo = programPath('mkfifo');
    // The pipe is there before the line that names it: whoever reads that line may write into the pipe.
    this.#container.program(
      'sleep',
      `#!/bin/sh\n${mkfifo} ${gate}.$$ && echo $$ >>${this.#sleepers} && read -r go <${gate}.$$\n`,
    );
  }

  get id(): string {
    return this.#container.id;
  }

  /** Folder in which the fuse counts. */
  get state(): string {
    return this.#container.state;
  }

  /** Starts a text and waits until its fuse sleeps. */
  async start(shell: ShellName, text: string, env: Readonly<Record<string, string>>): Promise<void> {
    const before = this.#lines().length;
    const result = await ended(this.#container.start(shell, text, env));
    if (result.status !== 0 || result.out + result.err !== '')
      throw new Error(`the start ended with ${JSON.stringify(result)}`);
    await this.#until(() => this.#lines().length > before);
  }

  /** Ends the sleep of each fuse, one after the other, and waits until it sleeps again. */
  async tick(): Promise<void> {
    const due = this.#lines().slice(this.#woken);
    this.#woken += due.length;
    for (const sleep of due) {
      const before = this.#lines().length;
      const gate = join(this.#container.folder, `gate.${sleep}`);
      await this.#until(() => isOpened(gate));
      await this.#until(() => this.#lines().length > before);
      rmSync(gate, { force: true });
    }
  }

  /** Sends a signal to everything that the starts left running, as a script may. */
  signal(signal: NodeJS.Signals): void {
    this.#container.signal(signal);
  }

  /** Ends all processes without a signal that they could handle. */
  kill(): void {
    this.#container.kill();
    this.#woken = this.#lines().length;
  }

  remove(): void {
    this.#container.remove();
  }

  /** Returns the processes that have begun to sleep, in order. */
  #lines(): readonly string[] {
    return existsSync(this.#sleepers) ? readFileSync(this.#sleepers, 'utf8').split('\n').slice(0, -1) : [];
  }

  async #until(isSo: () => boolean): Promise<void> {
    const begunAt = performance.now();
    while (performance.now() - begunAt < PATIENCE_MS) {
      if (isSo()) return;
      await pause(POLL_MS);
    }
    throw new Error('the fuse does not sleep again');
  }
}

/** Lets the reader of a pipe go on; false if there is none yet. */
function isOpened(pipe: string): boolean {
  try {
    const file = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    writeSync(file, 'go\n');
    closeSync(file);
    return true;
  } catch {
    return false;
  }
}
