import { systemClock } from '../../lib/clock.ts';
import { DeadlineError, withDeadline } from '../../lib/deadline.ts';
import type { TransportResponse } from '../../lib/transport.ts';
import { printable } from '../../views/printable.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { EXIT, failed, timedOut, usageError } from '../command-error.ts';
import { requestTimeout, switchOption, textOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
import { readTextFile } from '../secrets/secret-input.ts';
import { type MarketplaceSession, withMarketplace } from '../sessions/marketplace-session.ts';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'];
const DEADLINE_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** Sends any call of the service that has no command of its own. It is sent once, whatever its method. */
export const apiCommand: Command = {
  description:
    'Sent once, whatever the method. The reply is printed as it came. Exit code 3 for 404, 1 for any other error.',
  examples: [
    'gpu-rent api GET /api/v0/users/current/',
    `gpu-rent api PUT /api/v0/instances/4711/ --body '{"state":"stopped"}'`,
    'gpu-rent api POST /api/v0/bundles/ --body-file query.json',
  ],
  args: [
    { name: '<method>', description: 'GET, POST, PUT, DELETE or PATCH.' },
    { name: '<path>', description: 'Path below the address of the service, e.g. /api/v0/instances/.' },
  ],
  options: [
    { flags: '--body <json>', description: 'The body as JSON, a file name, or - for stdin.' },
    { flags: '--body-file <file>', description: 'A file with the body; - is stdin.' },
    { flags: '-i, --include', description: 'Show status and headers of the reply on stderr.' },
  ],
  optionSets: ['report', 'marketplace'],
  async run(input, context) {
    const [method = '', path = ''] = input.args;
    if (!METHODS.includes(method.toUpperCase()))
      throw usageError(`"${method}" is none of ${METHODS.join(', ')}.`);
    if (!path.startsWith('/')) throw usageError(`The path "${path}" must begin with /.`);
    const body = await bodyOf(input, context);
    return withMarketplace(input, context, async (session) => {
      const limitMs = requestTimeout(input.options) ?? DEADLINE_MS;
      const reply = await send(session, { method: method.toUpperCase(), path, body, limitMs });
      if (switchOption(input.options, '--include')) showHead(reply, context);
      await show(reply, input, context);
      if (reply.status < 300) return EXIT.ok;
      return reply.status === 404 ? EXIT.notFound : EXIT.failure;
    });
  },
};

interface Reply {
  readonly status: number;
  readonly headers: TransportResponse['headers'];
  readonly text: string;
}

async function bodyOf({ options }: CommandInput, context: CommandContext): Promise<string | undefined> {
  const given = textOption(options, '--body');
  const file = textOption(options, '--body-file') ?? (given === '-' ? '-' : undefined);
  if (file === undefined && given === undefined) return undefined;
  const text =
    file === undefined ? await textOrFile(given ?? '', context) : await readTextFile(file, '--body', context);
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw usageError(`--body: it is not JSON: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** Returns the text if it begins like JSON, else the content of the file. */
async function textOrFile(given: string, context: CommandContext): Promise<string> {
  return /^\s*[[{"]/.test(given) ? given : readTextFile(given, '--body', context);
}

async function send(
  { baseUrl, key, transport }: MarketplaceSession,
  {
    method,
    path,
    body,
    limitMs,
  }: { method: string; path: string; body: string | undefined; limitMs: number },
): Promise<Reply> {
  const [{ parseBaseUrl }, { readBody }] = await Promise.all([
    import('../../markets/vast/http/call.ts'),
    import('../../markets/vast/http/reply-body.ts'),
  ]);
  const { origin, prefix } = parseBaseUrl(baseUrl);
  try {
    return await withDeadline({ clock: systemClock, limitMs }, async (signal) => {
      const response = await transport({
        method,
        origin,
        path: `${prefix}${path}`,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${key.key.reveal()}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body }),
        signal,
      });
      const text = await readBody(response, MAX_BYTES);
      return { status: response.status, headers: response.headers, text };
    });
  } catch (error) {
    throw await unanswered(error, `${method} ${path}`, method === 'GET');
  }
}

/** Returns the error of a call without a complete reply: its cause, and the checks before a change is repeated. */
async function unanswered(error: unknown, call: string, isRead: boolean): Promise<Error> {
  const { CHECK_FIRST, OPEN_OUTCOME } = await import('../failures/describe-failure.ts');
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : '';
  const why = [error instanceof Error ? error.message : String(error), cause].filter((text) => text !== '');
  const what = `${call}: ${why.join(': ')}.${isRead ? '' : ` ${OPEN_OUTCOME}`}`;
  const isLate = error instanceof DeadlineError;
  const advice = isLate ? 'Give it longer: --request-timeout.' : 'Check the address (--url) and the network.';
  const remedy = isRead ? advice : `${CHECK_FIRST} ${advice}`;
  return isLate ? timedOut(what, remedy) : failed(what, remedy, error);
}

function showHead({ status, headers }: Reply, { stderr }: CommandContext): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${printable(value)}`);
  stderr.write(`HTTP ${status}\n${lines.join('\n')}\n\n`);
}

/** Prints JSON formatted, or in the form of -o; any other reply unchanged except for control characters. */
async function show({ text }: Reply, input: CommandInput, context: CommandContext): Promise<void> {
  if (text === '') return;
  try {
    const value: unknown = JSON.parse(text);
    await createOutput(input, context).value(value, JSON.stringify(value, undefined, 2));
  } catch {
    context.stdout.write(`${context.stdout.isTTY ? printable(text) : text}\n`);
  }
}
