import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { resultInFiles, resultInLog } from '../../src/instance/run-result.ts';
import { type Run, type RunProgram, runText } from '../../src/instance/run-text.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import { type ClientName, Container, ended, programPath, type ShellName } from './container.ts';
import type { OwnCall, OwnKeyService } from './own-key-service.ts';

/** Nonce of every run of the tests. */
export const NONCE = 'k3v9x0q2m7ab';

/** A busy machine may run these processes seldom. */
const PATIENCE_MS = 100_000;

export interface MachineOptions {
  readonly shell: ShellName;
  readonly service: OwnKeyService;
  readonly clients?: readonly ClientName[];
  /** Programs of this computer that the image has beside those of every image. */
  readonly tools?: readonly string[];
  readonly fuses?: Run['fuses'];
  readonly env?: Readonly<Record<string, string>>;
}

/** A folder that stands for a machine which runs one program to its end. */
export class RunMachine {
  readonly container: Container;
  /** Programs that the image has beside those of every image. */
  readonly tools: readonly string[];
  readonly #options: MachineOptions;

  constructor(options: MachineOptions) {
    const { shell, clients = ['curl'], tools = ['setsid'] } = options;
    this.#options = options;
    this.container = new Container(clients);
    const bin = join(this.container.folder, 'bin');
    symlinkSync(programPath(shell) ?? shell, join(bin, 'sh'));
    this.tools = [...tools, ...(shell === 'bash' ? ['bash'] : [])];
    for (const name of this.tools) {
      const path = programPath(name);
      if (path !== undefined) symlinkSync(path, join(bin, name));
    }
  }

  /** Returns the text of a program, in the form in which it is sent. */
  text(program: RunProgram, more: Partial<Run> = {}): string {
    const { service, fuses = {} } = this.#options;
    const { selfEnd: facts } = vastFacts;
    const text = facts && runText({ url: service.url, facts, fuses, nonce: NONCE, program, ...more });
    const packed = vastFacts.script.pack(text ?? '');
    if (text === undefined || packed.type !== 'fits') throw new Error('no text');
    return packed.script;
  }

  /** Starts the container. */
  spawn(program: RunProgram, more: Partial<Run> = {}) {
    const { shell, service, env } = this.#options;
    const trusted = { SSL_CERT_FILE: service.certificate, GPURENTAL_LOG: this.logPath };
    return { child: this.container.start(shell, this.text(program, more), { ...trusted, ...env }) };
  }

  /** Starts the container; resolves when its text has returned, without output. */
  async start(program: RunProgram): Promise<void> {
    const result = await ended(this.spawn(program).child);
    if (result.status !== 0 || result.out !== '' || result.err !== '')
      throw new Error(`the start ended with ${JSON.stringify(result)}`);
  }

  script(text: string): Promise<void> {
    return this.start({ type: 'script', text });
  }

  get logPath(): string {
    return join(this.container.folder, 'log');
  }

  get log(): string {
    return existsSync(this.logPath) ? readFileSync(this.logPath, 'utf8') : '';
  }

  /** Returns the output of `ls` of the folder. */
  get files(): string {
    const { state } = this.container;
    return existsSync(state) ? readdirSync(state).sort().join('\n') : '';
  }

  get logged() {
    return resultInLog(this.log, NONCE);
  }

  get listed() {
    return resultInFiles(this.files, NONCE);
  }

  /** Calls that the marketplace received from this machine. */
  calls(body?: string): readonly OwnCall[] {
    const path = `/api/v0/instances/${this.container.id}/`;
    return this.#options.service.calls.filter(
      (call) => call.path === path && (body ?? call.body) === call.body,
    );
  }

  get stops(): number {
    return this.calls('{"state":"stopped"}').length;
  }

  /** Resolves to the result in the log when the marketplace received a request to stop. */
  async finished() {
    await until('a request to stop', () => this.stops > 0);
    return this.logged;
  }

  /** Returns the processes of the container, in whatever group. */
  processes(): readonly number[] {
    const mark = `GPURENTAL_DIR=${this.container.state}\0`;
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        return readFileSync(`/proc/${name}/environ`, 'utf8').includes(mark) ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
  }

  /** Ends all processes, as a stop of the machine does after its grace period. */
  kill(): void {
    for (let found = this.processes(); found.length > 0; found = this.processes()) {
      for (const id of found) {
        try {
          process.kill(id, 'SIGKILL');
        } catch {
          // The process has ended.
        }
      }
    }
  }

  remove(): void {
    this.kill();
    this.container.remove();
  }
}

export async function until(what: string, isSo: () => boolean): Promise<void> {
  const begunAt = performance.now();
  while (performance.now() - begunAt < PATIENCE_MS) {
    if (isSo()) return;
    await pause(20);
  }
  throw new Error(`${what} did not come`);
}
