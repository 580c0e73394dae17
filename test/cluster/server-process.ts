import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

export interface ServerCommand {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Receives stdout and stderr; appended to over restarts. */
  readonly logPath: string;
}

/** Server that runs until it is stopped. */
export interface ServerProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves with how it ended and the last lines of its log; never rejects. */
  readonly ended: Promise<string>;
  /** Asks politely, insists after `graceMs`, and resolves once the process is gone. */
  stop(graceMs: number): Promise<void>;
}

const LAST_LINES = 8;
const MAX_LINE = 400;

/** Returns the last output of a server without Go's stack trace, and advice if the error is known. */
export function lastWordsOf(log: string): string {
  const output = log.split(/^goroutine \d+ \[/m)[0] ?? '';
  const lines = output.trimEnd().split('\n').slice(-LAST_LINES);
  const remedy = output.includes('no space left on device')
    ? [`What to do: make room in ${tmpdir()}, or set TMPDIR to a folder with 300 MB.`]
    : [];
  return [...lines.map((line) => line.slice(0, MAX_LINE)), ...remedy].join('\n');
}

function whenEnded(child: ChildProcess, command: ServerCommand): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`${command.name} could not be started: ${error.message}`));
    child.once('exit', (code, signal) => {
      const how = signal === null ? `exit code ${code}` : signal;
      resolve(
        `${command.name} ended (${how}). Its last lines:\n${lastWordsOf(readFileSync(command.logPath, 'utf8'))}`,
      );
    });
  });
}

/**
 * Starts a server. It inherits a pipe whose other end belongs to this process. The servers built by the tests end
 * when that pipe closes, so none of them survives if this process is killed.
 */
export function startServer(command: ServerCommand): ServerProcess {
  const log = openSync(command.logPath, 'a');
  const child = spawn(command.path, [...command.args], {
    stdio: ['pipe', log, log],
    env: { ...process.env, ...command.env, EXIT_WHEN_STDIN_CLOSES: 'true' },
  });
  closeSync(log);
  child.stdin?.on('error', () => {});
  const ended = whenEnded(child, command);
  return {
    name: command.name,
    pid: child.pid ?? 0,
    ended,
    async stop(graceMs) {
      child.kill('SIGTERM');
      const insist = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(insist);
    },
  };
}
