import { Secret } from '../../lib/secret.ts';
import type { CallPurpose } from '../../market/call-options.ts';
import type { Market, MarketOptions } from '../../market/market.ts';
import type { RegistryLogin, RentRequest as RentalRequest } from '../../market/rental.ts';
import { createMarketplaceClient } from './client.ts';
import { mayDestroyBy } from './destroy-probe.ts';
import { vastFacts } from './facts.ts';
import type { KeySource } from './http/call.ts';
import type { RentRequest } from './instances/rent.ts';
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
  const { instances, offers, users } = client;
  return {
    about: vastFacts,
    ...machineReads(instances),
    offers: (query, call) => offers.search(query, call),
    rent: async (offerId, request, call) => instances.rent(offerId, rentRequest(request), call),
    destroy: (id, call) => instances.destroy(id, call),
    stop: (id, call) => instances.stop(id, call),
    start: (id, call) => instances.start(id, call),
    relabel: (id, label, call) => instances.label(id, label, call),
    login: (call) => users.current(call),
    mayDestroy: (call) => mayDestroyBy((id) => instances.destroy(id, call)),
  };
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

/** Returns a rental as a request of the client. The launch mode is always sent: a service may have another default. */
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
