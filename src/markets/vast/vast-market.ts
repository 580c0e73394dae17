import { Secret } from '../../lib/secret.ts';
import type { CallPurpose } from '../../market/call-options.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import type { Market, MarketOptions } from '../../market/market.ts';
import type { RegistryLogin, RentRequest as RentalRequest } from '../../market/rental.ts';
import { createMarketplaceClient } from './client.ts';
import { mayDestroyBy } from './destroy-probe.ts';
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
      return outputOf(resultAddress(resultUrl, url), { ...options, signal: call?.signal });
    },
    attachSshKey: (id, publicKey, call) => sshKeys.attach(id, publicKey, call),
    login: (call) => users.current(call),
    mayDestroy: (call) => mayDestroyBy((id) => instances.destroy(id, call)),
  };
}

/** Maximum bytes of the output of a command. */
const MAX_OUTPUT_BYTES = 1_048_576;

async function outputOf(
  url: URL | undefined,
  options: Pick<ResultRequest, 'clock' | 'signal' | 'transport'>,
): Promise<string> {
  if (!url) throw lostOutput('the reply names no address that may be read', 'malformedReply');
  const output = await readResult({ ...options, url, maxBytes: MAX_OUTPUT_BYTES }).catch((cause: unknown) => {
    throw lostOutput('the output cannot be read', 'unavailable', cause);
  });
  if (output === undefined) throw lostOutput('no output within 9 s', 'timeout');
  return output;
}

function lostOutput(why: string, kind: MarketplaceErrorKind, cause?: unknown): MarketplaceError {
  const operation = 'run a command on the files of an instance';
  return new MarketplaceError(`${operation}: ${why}`, { kind, outcome: 'unknown', cause });
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
