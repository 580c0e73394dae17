import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

export interface ServerCommand {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  /** Receives stdout and stderr; appended to over restarts. */
  readonly logPath: string;
}

/** A server that runs until it is told to end. */
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

/** The last output of a server, without the stack that Go prints behind it, and what to do if that is known. */
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
 * Starts a server. It holds a pipe whose other end only this process has, and our own build of the servers ends when
 * that pipe closes, so that none of them is left over even where this process is killed.
 */
export function startServer(command: ServerCommand): ServerProcess {
  const log = openSync(command.logPath, 'a');
  const child = spawn(command.path, [...command.args], {
    stdio: ['pipe', log, log],
    env: { ...process.env, EXIT_WHEN_STDIN_CLOSES: 'true' },
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
