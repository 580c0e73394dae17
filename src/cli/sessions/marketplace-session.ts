import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import type { Secret } from '../../lib/secret.ts';
import { type Transport, TransportError } from '../../lib/transport.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { ClientLimits, MarketplaceClient, MarketplaceClientOptions } from '../../markets/vast/client.ts';
import type { LoggedOutTfa } from '../../markets/vast/tfa/tfa.ts';
import type { CommandContext, CommandInput, OptionValues } from '../command.ts';
import { failed, usageError } from '../command-error.ts';
import { numberOption, requestTimeout, switchOption, textOption } from '../option-values.ts';
import { type FoundKey, findApiKey } from '../secrets/api-key.ts';

const PUBLIC_SERVICE = 'https://console.vast.ai';

/** Access to one login for the duration of a command. */
export interface MarketplaceSession {
  readonly client: MarketplaceClient;
  readonly baseUrl: string;
  readonly key: FoundKey;
  readonly transport: Transport;
}

/** Address and key of the marketplace that replace those of options and environment. */
export interface SessionTarget {
  readonly baseUrl?: string;
  readonly apiKey?: Secret;
}

/** Returns the address of the marketplace. */
export function marketplaceUrl(options: OptionValues, env: CommandContext['env']): string {
  const given = textOption(options, '--url');
  if (given !== undefined) return checkedUrl('--url', given);
  const name = ['GPU_RENT_URL', 'VAST_URL'].find((each) => env[each] !== undefined);
  return name === undefined ? PUBLIC_SERVICE : checkedUrl(name, env[name] ?? '');
}

function checkedUrl(name: string, text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw usageError(
    `${name}: "${text}" is not an address of a marketplace.`,
    `Write one such as ${PUBLIC_SERVICE}.`,
  );
}

/**
 * Opens the marketplace of options and environment, runs `work` with it and closes it again. Rejects like
 * {@link withMarketplaceAt}.
 */
export function withMarketplace<Result>(
  input: CommandInput,
  context: CommandContext,
  work: (session: MarketplaceSession) => Promise<Result>,
): Promise<Result> {
  return withMarketplaceAt({}, { input, context }, work);
}

/**
 * Runs `work` with a given marketplace or key. If the session key of an earlier login has expired before its first
 * successful call, the ordinary key is used. Rejects with the error of `work`, explained for a person.
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
    if (!key.session || attempt.connection.answered() > 0 || !hasSessionEnded(error))
      throw withAddress(error, attempt.connection, context);
    context.stderr.write(`The session key of ${key.source} has ended; the ordinary key is used.\n`);
  } finally {
    await attempt.connection.close();
  }
  const ordinary = await findApiKey(input.options, context, { skipSession: true });
  const again = await openSession(input, context, { ...target, key: ordinary });
  try {
    return await work(again.session);
  } catch (error) {
    throw withAddress(error, again.connection, context);
  } finally {
    await again.connection.close();
  }
}

/**
 * Opens the marketplace for a caller without a key, who only has the secret of a login: `work` gets a function that
 * makes 2FA calls with a secret (specification 4.8). Rejects like `work`, explained for a person.
 */
export async function withLoggedOut<Result>(
  input: CommandInput,
  context: CommandContext,
  work: (tfaWith: (secret: Secret) => LoggedOutTfa) => Promise<Result>,
): Promise<Result> {
  const connection = await openConnection(input, context, {});
  const { createLoggedOutClient } = await import('../../markets/vast/client.ts');
  try {
    return await work((secret) => createLoggedOutClient({ ...connection.parts, secret }));
  } catch (error) {
    throw withAddress(error, connection, context);
  } finally {
    await connection.close();
  }
}

/** Returns a failure that is caused by the address with words about it; any other unchanged. */
function withAddress(error: unknown, connection: Connection, { signal }: CommandContext): unknown {
  if (signal.aborted || !(error instanceof MarketplaceError)) return error;
  const { baseUrl } = connection.parts;
  const { kind, status, outcome, code } = error;
  if (kind === 'blockedAddress') return notAsked(error, baseUrl);
  if (isNotOffered(error, connection.lastRefused())) return notOffered(error, connection);
  if (kind !== 'unavailable' || status !== undefined || outcome !== 'refused') return error;
  const why = code === undefined ? '' : ` (${code})`;
  return failed(
    `The marketplace at ${baseUrl} cannot be reached${why}; nothing was changed.`,
    'Check the address (--url, GPU_RENT_URL) and the network.',
    error,
  );
}

/**
 * Returns true if the service lacks the path itself, and not an object that the call named. Then the method is not
 * allowed there, or the service's message names the path, or the call named no object.
 */
function isNotOffered(error: MarketplaceError, call: Sent | undefined): boolean {
  if (call?.status === 405) return true;
  if (call?.status !== 404 || error.kind !== 'notFound') return false;
  const [path = ''] = call.path.split('?');
  return namesPath(error, path) || (!namesThing(call.path) && hasNoCodeOfThing(error));
}

const namesPath = ({ upstreamMessage }: MarketplaceError, path: string): boolean =>
  upstreamMessage?.includes(path.replace(/\/$/, '')) ?? false;

/** Returns true for an id in the path or the query or, among the calls of the second factor, in the body. */
const namesThing = (path: string): boolean => /[/=]\d/.test(path) || path.includes('/tfa/');

const hasNoCodeOfThing = ({ code }: MarketplaceError): boolean => code === undefined || code === 'not_found';

function notOffered(error: MarketplaceError, connection: Connection): Error {
  const { method, path = '', status } = connection.lastRefused() ?? {};
  return failed(
    `The service at ${connection.parts.baseUrl} does not offer ${method} ${path.split('?')[0]} (HTTP ${status}).`,
    'Check the address (--url, GPU_RENT_URL), or use a service that has this call.',
    error,
  );
}

/** Sends keys by https to public addresses only, or to this machine. */
function notAsked(error: MarketplaceError, baseUrl: string): Error {
  let cause: unknown = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  const why = cause instanceof Error && cause !== error ? `: ${cause.message}` : '';
  return failed(
    `The marketplace at ${baseUrl} was not called${why}.`,
    'Name a public https address, or one of this machine itself such as http://127.0.0.1:8080: --url, GPU_RENT_URL.',
    error,
  );
}

function hasSessionEnded(error: unknown): boolean {
  return error instanceof MarketplaceError && ['unauthorized', 'sessionExpired'].includes(error.kind);
}

interface OpenSession {
  readonly session: MarketplaceSession;
  readonly connection: Connection;
}

/** A call that the service answered. */
interface Sent {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** The connection to one marketplace, without a key. */
interface Connection {
  /** Parts of a client except its credential. */
  readonly parts: Omit<MarketplaceClientOptions, 'apiKey'>;
  /** Returns the number of calls answered with success. */
  answered(): number;
  /** Returns the last answered call, if it was refused. */
  lastRefused(): Sent | undefined;
  close(): Promise<void>;
}

async function openConnection(
  { options }: CommandInput,
  context: CommandContext,
  target: SessionTarget,
): Promise<Connection> {
  const [{ createPacer }, { createMarketplaceTransport }, { CallGivenUp }, { environmentProxy }] =
    await Promise.all([
      import('../../market/pacing.ts'),
      import('../../markets/vast/http/transport.ts'),
      import('../../markets/vast/errors/classify-failure.ts'),
      import('../../lib/egress-proxy.ts'),
    ]);
  const proxy = environmentProxy(context.env);
  const connections = createMarketplaceTransport({ connections: 4, proxy });
  const { counted, ...counts } = endedWith(connections, context.signal, () => new CallGivenUp());
  const pacer = createPacer({ clock: systemClock });
  return {
    ...counts,
    parts: {
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      baseUrl: target.baseUrl ?? marketplaceUrl(options, context.env),
      transport: switchOption(options, '--explain') ? await explained(counted, context) : counted,
      pacer,
      limits: limitsOf(options),
    },
    async close() {
      pacer.stop();
      await connections.close();
    },
  };
}

async function openSession(
  input: CommandInput,
  context: CommandContext,
  target: SessionTarget & { readonly key: FoundKey },
): Promise<OpenSession> {
  const connection = await openConnection(input, context, target);
  const { createMarketplaceClient } = await import('../../markets/vast/client.ts');
  const client = createMarketplaceClient({ ...connection.parts, apiKey: target.key.key });
  const { baseUrl, transport } = connection.parts;
  return { session: { client, baseUrl, key: target.key, transport }, connection };
}

/** Returns a transport whose calls end with the command, and then count as aborted: the service did not fail. */
function endedWith(connection: Transport, command: AbortSignal, givenUp: () => Error) {
  let answered = 0;
  let last: Sent | undefined;
  const counted: Transport = async (request) => {
    try {
      const response = await connection({ ...request, signal: signalOf(request.signal, command) });
      if (response.status < 300) answered += 1;
      last = { method: request.method, path: request.path, status: response.status };
      return response;
    } catch (error) {
      if (!command.aborted || !(error instanceof TransportError)) throw error;
      throw new TransportError(error.message, { sent: error.sent, cause: givenUp() });
    }
  };
  return {
    counted,
    answered: () => answered,
    lastRefused: () => (last && last.status >= 400 ? last : undefined),
  };
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

/**
 * Returns the number of attempts: `--retry` counts every attempt, as in the service's public clients; 0 means one, too.
 */
function limitsOf(options: OptionValues): ClientLimits {
  const retry = numberOption(options, '--retry', { min: 0, max: 100, whole: true }) ?? 3;
  const attemptDeadlineMs = requestTimeout(options);
  return {
    readAttempts: Math.max(1, retry),
    ...(attemptDeadlineMs === undefined ? {} : { attemptDeadlineMs }),
  };
}
