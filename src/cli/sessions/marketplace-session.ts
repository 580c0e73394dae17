import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import type { Secret } from '../../lib/secret.ts';
import { type Transport, TransportError } from '../../lib/transport.ts';
import type { ClientLimits, MarketplaceClient } from '../../marketplace/client.ts';
import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { CommandContext, CommandInput, OptionValues } from '../command.ts';
import { failed, usageError } from '../failures/command-error.ts';
import { numberOption, requestTimeout, switchOption, textOption } from '../options/option-values.ts';
import { type FoundKey, findApiKey } from '../secrets/api-key.ts';

const PUBLIC_SERVICE = 'https://console.vast.ai';

/** One login's access for the length of a command. */
export interface MarketplaceSession {
  readonly client: MarketplaceClient;
  readonly baseUrl: string;
  readonly key: FoundKey;
  readonly transport: Transport;
}

/** Where the marketplace is and whose key is used, instead of what options and environment say. */
export interface SessionTarget {
  readonly baseUrl?: string;
  readonly apiKey?: Secret;
}

/** Where the marketplace is. */
export function marketplaceUrl(options: OptionValues, env: CommandContext['env']): string {
  const given = textOption(options, '--url');
  if (given !== undefined) return checkedUrl('--url', given);
  const name = ['GPU_RENT_URL', 'VAST_URL'].find((each) => env[each] !== undefined);
  return name === undefined ? PUBLIC_SERVICE : checkedUrl(name, env[name] ?? '');
}

function checkedUrl(name: string, text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw usageError(
    `${name}: "${text}" is no address of a marketplace.`,
    `Write one such as ${PUBLIC_SERVICE}.`,
  );
}

/** Opens the marketplace that options and environment say, runs `work` with it and closes it again. */
export function withMarketplace<Result>(
  input: CommandInput,
  context: CommandContext,
  work: (session: MarketplaceSession) => Promise<Result>,
): Promise<Result> {
  return withMarketplaceAt({}, { input, context }, work);
}

/**
 * The same for a marketplace or key that is known otherwise. A session key of an earlier login that has ended is
 * left aside, as long as no call has succeeded with it, and the ordinary key is used.
 */
export async function withMarketplaceAt<Result>(
  target: SessionTarget,
  { input, context }: { readonly input: CommandInput; readonly context: CommandContext },
  work: (session: MarketplaceSession) => Promise<Result>,
): Promise<Result> {
  const key = target.apiKey
    ? { key: target.apiKey, source: 'the account', session: false }
    : await findApiKey(input.options, context);
  const attempt = await openSession(input, context, { ...target, key });
  try {
    return await work(attempt.session);
  } catch (error) {
    if (!key.session || attempt.answered() > 0 || !hasSessionEnded(error))
      throw orUnreachable(error, attempt, context);
    context.stderr.write(`The session key of ${key.source} has ended; the ordinary key is used.\n`);
  } finally {
    await attempt.close();
  }
  const ordinary = await findApiKey(input.options, context, { skipSession: true });
  const again = await openSession(input, context, { ...target, key: ordinary });
  try {
    return await work(again.session);
  } catch (error) {
    throw orUnreachable(error, again, context);
  } finally {
    await again.close();
  }
}

/** Nothing was sent: the address is what a person has to look at. */
function orUnreachable(error: unknown, { session }: OpenSession, { signal }: CommandContext): unknown {
  if (signal.aborted || !(error instanceof MarketplaceError)) return error;
  const { kind, status, outcome, code } = error;
  if (kind === 'blockedAddress') return notAsked(error, session);
  if (kind !== 'unavailable' || status !== undefined || outcome !== 'refused') return error;
  const why = code === undefined ? '' : ` (${code})`;
  return failed(
    `The marketplace at ${session.baseUrl} cannot be reached${why}; nothing was changed.`,
    'Check the address (--url, GPU_RENT_URL) and the network.',
    error,
  );
}

/** Keys are sent by https to public addresses alone, or to this machine itself. */
function notAsked(error: MarketplaceError, { baseUrl }: MarketplaceSession): Error {
  let cause: unknown = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  const why = cause instanceof Error && cause !== error ? `: ${cause.message}` : '';
  return failed(
    `The marketplace at ${baseUrl} was not asked${why}.`,
    'Name a public https address, or one of this machine itself such as http://127.0.0.1:8080: --url, GPU_RENT_URL.',
    error,
  );
}

function hasSessionEnded(error: unknown): boolean {
  return error instanceof MarketplaceError && ['unauthorized', 'sessionExpired'].includes(error.kind);
}

interface OpenSession {
  readonly session: MarketplaceSession;
  /** Calls that were answered with success. */
  answered(): number;
  close(): Promise<void>;
}

async function openSession(
  { options }: CommandInput,
  context: CommandContext,
  target: SessionTarget & { readonly key: FoundKey },
): Promise<OpenSession> {
  const [{ createMarketplaceClient }, { createPacer }, { createMarketplaceTransport }, { CallGivenUp }] =
    await Promise.all([
      import('../../marketplace/client.ts'),
      import('../../marketplace/pacing/pacing.ts'),
      import('../../marketplace/http/transport.ts'),
      import('../../marketplace/http/lost-reply.ts'),
    ]);
  const door = createMarketplaceTransport({ connections: 4 });
  const { counted, answered } = endedWith(door, context.signal, () => new CallGivenUp());
  const transport = switchOption(options, '--explain') ? await explained(counted, context) : counted;
  const baseUrl = target.baseUrl ?? marketplaceUrl(options, context.env);
  const env = { clock: systemClock, random: systemRandom, log: silentLogger };
  const pacer = createPacer({ clock: systemClock });
  const client = createMarketplaceClient({
    ...env,
    baseUrl,
    apiKey: target.key.key,
    transport,
    pacer,
    limits: limitsOf(options),
  });
  return {
    session: { client, baseUrl, key: target.key, transport },
    answered,
    async close() {
      pacer.stop();
      await door.close();
    },
  };
}

/** A door whose calls end with the command, and then count as given up: the service did not fail. */
function endedWith(door: Transport, command: AbortSignal, givenUp: () => Error) {
  let answered = 0;
  const counted: Transport = async (request) => {
    try {
      const response = await door({ ...request, signal: signalOf(request.signal, command) });
      if (response.status < 300) answered += 1;
      return response;
    } catch (error) {
      if (!command.aborted || !(error instanceof TransportError)) throw error;
      throw new TransportError(error.message, { sent: error.sent, cause: givenUp() });
    }
  };
  return { counted, answered: () => answered };
}

async function explained(transport: Transport, context: CommandContext): Promise<Transport> {
  const { explainingTransport } = await import('./explaining-transport.ts');
  return explainingTransport(transport, (line) => {
    context.stderr.write(`${line}\n`);
  });
}

function signalOf(own: AbortSignal | undefined, command: AbortSignal): AbortSignal {
  return own ? AbortSignal.any([own, command]) : command;
}

/** `--retry` counts every attempt, as the service's public clients do; 0 means one, too. */
function limitsOf(options: OptionValues): ClientLimits {
  const retry = numberOption(options, '--retry', { min: 0, max: 100, whole: true }) ?? 3;
  const attemptDeadlineMs = requestTimeout(options);
  return {
    readAttempts: Math.max(1, retry),
    ...(attemptDeadlineMs === undefined ? {} : { attemptDeadlineMs }),
  };
}
