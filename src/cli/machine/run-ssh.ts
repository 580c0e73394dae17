import { CONNECT_TIMEOUT_SECONDS } from '../../reach/ssh-arguments.ts';
import type { SshTarget } from '../../reach/ssh-target.ts';
import { runProgram, SSH_FAILED } from './programs.ts';
import { type Asked, changeSince } from './reach.ts';

export interface SshRun {
  readonly machine: SshTarget;
  readonly stdin: boolean;
  readonly asked: Asked;
}

/**
 * Runs ssh and resolves to its exit code. A machine that did not answer within the connect timeout is named on stderr
 * with a remedy. Rejects if the object runs on another machine by then, or on none.
 */
export async function runSsh(args: readonly string[], { machine, stdin, asked }: SshRun): Promise<number> {
  const startedAt = performance.now();
  const code = await runProgram('ssh', args, asked.context, { stdin });
  if (code !== SSH_FAILED) return code;
  const change = await changeSince(machine, asked);
  if (change) throw change;
  const seconds = (performance.now() - startedAt) / 1000;
  if (seconds >= CONNECT_TIMEOUT_SECONDS && seconds < CONNECT_TIMEOUT_SECONDS + 5)
    for (const line of noAnswer(machine)) asked.context.stderr.write(`${line}\n`);
  return code;
}

function noAnswer({ shown, host, port }: SshTarget): readonly string[] {
  const isObject = shown.startsWith('gpui/');
  const inspect = isObject ? `gpu-rent explain ${shown}` : `gpu-rent show instance ${shown}`;
  return [
    `Error: ${shown} did not answer SSH at ${host}:${port} within ${CONNECT_TIMEOUT_SECONDS}s.`,
    `What to do: a machine that has just booted may need another minute; else run: ${inspect}`,
  ];
}
