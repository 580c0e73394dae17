import { isIP } from 'node:net';
import { NETWORKS, networkSet } from '../../lib/networks.ts';

/** Networks behind which no public service stands. */
const NOT_PUBLIC = Object.values(NETWORKS).flat();

/** Which addresses may be connected to. */
export interface AddressRules {
  /** Why a request to this origin must not be made, in a few words; undefined if it may. */
  refuseOrigin(origin: URL): string | undefined;
  /** Why this resolved address of the host must not be connected to; undefined if it may. */
  refuseAddress(host: string, address: string): string | undefined;
}

/**
 * https only outside loopback; loopback only if the origin itself says so; private, link-local and other
 * non-public ranges only if `allowedNetworks` (CIDR) names them.
 */
export function createAddressRules(allowedNetworks: readonly string[] = []): AddressRules {
  const isLoopback = networkSet(NETWORKS.loopback);
  const isNotPublic = networkSet(NOT_PUBLIC);
  const isAllowed = networkSet(allowedNetworks);
  const isLoopbackHost = (host: string) => host === 'localhost' || isLoopback(host);

  const refuseAddress = (host: string, address: string): string | undefined => {
    if (isLoopbackHost(host)) {
      return isLoopback(address) ? undefined : 'a loopback name leads to another machine';
    }
    if (!isNotPublic(address) || isAllowed(address)) return undefined;
    return 'the address is private, link-local or otherwise not public';
  };

  return {
    refuseAddress,
    refuseOrigin(origin) {
      const host = bareHost(origin.hostname);
      if (origin.protocol === 'http:' && !isLoopbackHost(host)) return 'https is required outside loopback';
      if (origin.protocol !== 'http:' && origin.protocol !== 'https:')
        return 'only http and https are spoken';
      return isIP(host) === 0 ? undefined : refuseAddress(host, host);
    },
  };
}

/** A host name as `net` takes it: an IPv6 address without its brackets. */
export function bareHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
