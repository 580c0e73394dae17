import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { catalog } from '../../src/cli/catalog.ts';
import { Interrupted } from '../../src/cli/command-error.ts';
import { runToEnd } from '../../src/cli/program.ts';

/** Result of a command line. */
export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Contents of stdin. */
  readonly stdin?: string;
  /** Signal that aborts the command. */
  readonly signal?: AbortSignal;
}

export interface TerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Size of the terminal, if it reports one. */
  readonly size?: { readonly columns: number; readonly rows: number };
}

/** Output and input of a person at a terminal. */
export interface Terminal {
  /** Returns the output so far, of stdout and stderr. */
  shown(): string;
  /** Resolves once the text is shown. */
  until(text: string): Promise<void>;
  /** Types a line. */
  type(line: string): void;
  /** Sends Ctrl-C. */
  interrupt(): void;
  /** Sends Ctrl-D: end of input. */
  hangUp(): void;
  /** Returns true while typed text is not echoed. */
  isHidden(): boolean;
  readonly ended: Promise<number>;
}

/** A person with a home folder of their own, in front of `gpu-rent`. */
export interface CommandLine {
  readonly home: string;
  run(args: readonly string[], options?: RunOptions): Promise<Ran>;
  atTerminal(args: readonly string[], options?: TerminalOptions): Terminal;
  leave(): void;
}

const program = { groups: catalog, version: '1.2.3', calledAs: 'gpu-rent' };

/** `always`: variables that every run finds, e.g. where the service is. */
export function commandLine(always: Readonly<Record<string, string>> = {}): CommandLine {
  const home = mkdtempSync(join(tmpdir(), 'gpu-rent-cli-'));
  const envOf = (env: RunOptions['env']) => ({
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_CACHE_HOME: join(home, '.cache'),
    ...always,
    ...env,
  });
  return {
    home,
    async run(args, { env, stdin = '', signal = new AbortController().signal } = {}) {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const context = { stdout, stderr, stdin: new PassThrough().end(stdin), env: envOf(env), signal };
      const exitCode = await runToEnd(program, args, context);
      const [said, complained] = await Promise.all([text(stdout.end()), text(stderr.end())]);
      return { exitCode, stdout: said, stderr: complained };
    },
    atTerminal: (args, { env, size } = {}) => terminal(args, envOf(env), size),
    leave: () => rmSync(home, { recursive: true }),
  };
}

function terminal(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  size: TerminalOptions['size'],
): Terminal {
  let seen = '';
  let hidden = false;
  const shown = new PassThrough().on('data', (chunk) => {
    seen += String(chunk);
  });
  const screen = Object.assign(shown, { isTTY: true, ...size });
  const interruption = new AbortController();
  const setRawMode = (raw: boolean) => {
    hidden = raw;
  };
  const keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const context = {
    stdout: screen,
    stderr: screen,
    stdin: keyboard,
    env,
    signal: interruption.signal,
  };
  const ended = runToEnd(program, args, context);
  return {
    shown: () => seen,
    async until(expected) {
      while (!seen.includes(expected)) {
        const more = new Promise<'more'>((resolve) => shown.once('data', () => resolve('more')));
        if ((await Promise.race([more, ended])) !== 'more' && !seen.includes(expected))
          throw new Error(`"${expected}" was never shown:\n${seen}`);
      }
    },
    type: (line) => void keyboard.write(`${line}\r`),
    interrupt: () => interruption.abort(new Interrupted()),
    hangUp: () => void keyboard.end(),
    isHidden: () => hidden,
    ended,
  };
}
