import { Secret } from '../../lib/secret.ts';
import type { CallPurpose } from '../../market/call-options.ts';
import { MarketplaceError, type MarketplaceErrorKind, type Outcome } from '../../market/errors.ts';
import type { Market, MarketOptions } from '../../market/market.ts';
import type { RegistryLogin, RentRequest as RentalRequest } from '../../market/rental.ts';
import { createMarketplaceClient } from './client.ts';
import { mayDestroyBy } from './destroy-probe.ts';
import { UnreadableBody } from './errors/classify-failure.ts';
import { vastFacts } from './facts.ts';
import type { KeySource } from './http/call.ts';
import type { RentRequest } from './instances/rent.ts';
import { type ResultRequest, readResult, resultAddress } from './instances/results.ts';
import { machineReads } from './machine-reads.ts';

/** Opens Vast.ai as a market. Throws a MarketplaceError if the address is invalid. */
export function openVast({ url, key, onMachinesReply, ...options }: MarketOptions): Market {
  const client = createMarketplaceClient({
    ...options,
    baseUrl: url,
    apiKey: keyOf(key),
    // Only replies that show machines: another backend of the service may have a wrong clock.
    onGoodReply: ({ area, effect, headers }) => {
      if (area === 'instances' && effect === 'read') onMachinesReply?.(headers);
    },
  });
  const { instances, offers, sshKeys, users } = client;
  return {
    about: vastFacts,
    ...machineReads(instances),
    offers: (query, call) => offers.search(query, call),
    rent: async (offerId, request, call) => instances.rent(offerId, rentRequest(request), call),
    destroy: (id, call) => instances.destroy(id, call),
    stop: (id, call) => instances.stop(id, call),
    start: (id, call) => instances.start(id, call),
    relabel: (id, label, call) => instances.label(id, label, call),
    runCommand: async (id, command, call) => {
      const { resultUrl } = await instances.runCommand(id, command, call);
      return outputOf(resultAddress(resultUrl, url), {
        ...{ ...options, signal: call?.signal },
        ...{ operation: 'run a command on the files of an instance', outcome: 'unknown' },
        maxBytes: MAX_OUTPUT_BYTES,
      });
    },
    readLog: async (id, tailLines, call) => {
      const { resultUrl } = await instances.requestLogs(id, { tailLines }, call);
      return outputOf(resultAddress(resultUrl, url), {
        ...{ ...options, signal: call?.signal },
        ...{ operation: 'read a log', outcome: 'refused' },
        maxBytes: MAX_LOG_BYTES,
      });
    },
    attachSshKey: (id, publicKey, call) => sshKeys.attach(id, publicKey, call),
    login: (call) => users.current(call),
    mayDestroy: (call) => mayDestroyBy((id) => instances.destroy(id, call)),
  };
}

/** Maximum bytes of the output of a command. */
const MAX_OUTPUT_BYTES = 1_048_576;

const { maxBytes: MAX_LOG_BYTES = 0 } = vastFacts.containerLog ?? {};

interface OutputRequest extends Omit<ResultRequest, 'url'> {
  /** Name of the call in errors. */
  readonly operation: string;
  /** Effect of the call if its output is lost. */
  readonly outcome: Outcome;
}

/** Reads the output of a call. Rejects with a MarketplaceError if it is lost or longer than `maxBytes`. */
async function outputOf(
  url: URL | undefined,
  { operation, outcome, ...request }: OutputRequest,
): Promise<string> {
  const lost = (why: string, kind: MarketplaceErrorKind, cause?: unknown) =>
    new MarketplaceError(`${operation}: ${why}`, { kind, outcome, cause });
  if (!url) throw lost('the reply names no address that may be read', 'malformedReply');
  const output = await readResult({ ...request, url }).catch((cause: unknown) => {
    if (cause instanceof UnreadableBody) throw lost(cause.message, 'malformedReply', cause);
    throw lost('the output cannot be read', 'unavailable', cause);
  });
  if (output === undefined) throw lost('no output within 9 s', 'timeout');
  return output;
}

function keyOf(key: MarketOptions['key']): Secret | KeySource {
  return typeof key === 'function' ? (call) => key(purposeOf(call)) : key;
}

/**
 * Returns the purpose of a call. A read may be sent as a POST; only the call that ends a machine counts as `destroy`.
 */
function purposeOf({ effect, endpointClass }: Parameters<KeySource>[0]): CallPurpose {
  if (effect === 'read') return 'read';
  return endpointClass === 'destroy' ? 'destroy' : 'change';
}

/**
 * Returns a rental as a request of the client. The launch mode is always sent, because a service may have another
 * default.
 */
function rentRequest({ ssh, imageLogin, ...request }: RentalRequest): RentRequest {
  return {
    ...request,
    runType: request.args ? 'args' : ssh ? 'ssh_direc ssh_proxy' : 'ssh',
    ...(imageLogin && { imageLogin: loginFlags(imageLogin) }),
    cancelUnavailable: true,
  };
}

function loginFlags({ host, username, password }: RegistryLogin): Secret {
  return new Secret(`-u ${username} -p ${password.reveal()} ${host}`);
}
