import { sleep, systemClock } from '../../lib/clock.ts';
import type { TransportResponse } from '../../lib/transport.ts';
import { LOG_EVENTS_TYPE, LOG_PATH, parseLogEvent } from '../../reach/log-stream.ts';
import { printable, printableLine } from '../../views/printable.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { failed, Interrupted } from '../command-error.ts';
import { withCluster } from '../sessions/cluster-session.ts';
import { keptLog, keptLogNote } from './kept-log.ts';
import { type LogAddress, openLogs } from './log-address.ts';
import { logCredentials } from './log-token.ts';
import { type LogReader, logFollower } from './run-log.ts';

/** Log of a GpuInstance that the operator serves. */
export interface OperatorLogRequest {
  readonly name: string;
  readonly address: LogAddress;
  readonly follow: boolean;
  /** Lines to show of the text that is there; undefined for all. */
  readonly tail: number | undefined;
}

const RETRIES = 15;
const RETRY_MS = 1_000;
/** Longest timer of Node: a follower ends by the stream or by a signal. */
const FOREVER_MS = 2 ** 31 - 1;

/**
 * Shows the log of a GpuInstance through the operator, with the caller's Kubernetes token instead of the marketplace
 * key. Resolves to the exit code. Rejects with the operator's refusal.
 */
export async function showOperatorLog(
  { name, address, follow, tail }: OperatorLogRequest,
  input: CommandInput,
  context: CommandContext,
): Promise<number> {
  return withCluster(input, context, async (cluster) => {
    const { namespace } = cluster;
    const { open, close } = await openLogs(address, await logCredentials(input.options, cluster));
    try {
      const first = await firstText(open, { path: `${LOG_PATH}/${namespace}/${name}`, follow }, context);
      const write = (text: string) => context.stdout.write(context.stdout.isTTY ? printable(text) : text);
      if (first.type === 'finished') {
        const kept = await keptLog(cluster, name);
        if (kept === undefined) throw failed(`The operator sent no log: ${first.message}`);
        context.stderr.write(keptLogNote(name));
        write(lastLines(kept, tail));
        return 0;
      }
      write(lastLines(first.text, tail));
      if (!follow) return 0;
      const print = (line: string) => context.stderr.write(`${printableLine(line)}\n`);
      const reader = { open, clock: systemClock, namespace, write, print, since: first.position };
      await logFollower(reader)(name, context.signal).finish(FOREVER_MS);
      return context.signal.reason instanceof Interrupted ? context.signal.reason.exitCode : 0;
    } finally {
      await close();
    }
  });
}

interface LogText {
  readonly type: 'text';
  readonly text: string;
  readonly position: string | undefined;
}

/** Answer of the operator to a request for the text that is there. `message` is one line. */
export type OperatorAnswer =
  | LogText
  /** The run has finished and its machine is gone. */
  | { readonly type: 'finished'; readonly message: string }
  | { readonly type: 'refused'; readonly status: number; readonly message: string };

/** Text of a log so far, or the operator's answer for a finished run without a machine. */
type FirstText = Exclude<OperatorAnswer, { readonly type: 'refused' }>;

/**
 * Reads the text that is there at a path of the operator. Repeats the request on a new connection while a replica does
 * not lead. Rejects if the operator does not answer.
 */
export async function readOperatorLog(
  open: LogReader['open'],
  path: string,
  signal: AbortSignal,
): Promise<OperatorAnswer> {
  for (let tries = 1; ; tries += 1) {
    const reply = await open(path, { accept: LOG_EVENTS_TYPE, signal });
    const body = await textOf(reply);
    if (reply.status === 200) return joined(body);
    const message = printableLine(body.trim());
    if (reply.status === 410) return { type: 'finished', message };
    if (reply.status !== 503 || tries === RETRIES) return { type: 'refused', status: reply.status, message };
    await sleep(systemClock, RETRY_MS, signal);
  }
}

/** Reads the text that is there; a follower also waits for a machine. Rejects with the operator's refusal. */
async function firstText(
  open: LogReader['open'],
  { path, follow }: { readonly path: string; readonly follow: boolean },
  { signal }: CommandContext,
): Promise<FirstText> {
  const answer = await readOperatorLog(open, path, signal);
  if (answer.type !== 'refused') return answer;
  const { status, message } = answer;
  if (status === 404 && follow && message.includes('no machine'))
    return { type: 'text', text: '', position: undefined };
  throw failed(`The operator sent no log: ${message}`, remedyOf(status));
}

function remedyOf(status: number): string | undefined {
  if (status === 401)
    return 'The token is expired or of another cluster: renew it, or give --log-service-account NAME.';
  if (status === 403)
    return 'Ask for a RoleBinding to ClusterRole gpu-rental-operator-log-reader in that namespace.';
  return undefined;
}

function joined(body: string): LogText {
  const texts = body.split('\n').flatMap((line) => {
    const event = parseLogEvent(line);
    return event?.type === 'text' ? [event] : [];
  });
  return { type: 'text', text: texts.map(({ text }) => text).join(''), position: texts.at(-1)?.position };
}

/** Returns the last `tail` lines of a text; all of it without `tail`. */
export function lastLines(text: string, tail: number | undefined): string {
  if (tail === undefined) return text;
  const lines = text.split('\n');
  const count = text.endsWith('\n') ? tail + 1 : tail;
  return tail === 0 ? '' : lines.slice(-count).join('\n');
}

async function textOf({ body }: TransportResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
