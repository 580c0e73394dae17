import { BlockList, isIP, isIPv6 } from 'node:net';

/** Addresses of the machine itself. */
const LOOPBACK: readonly string[] = ['127.0.0.0/8', '::1/128'];

/** Ranges behind which no public service stands (IANA special-purpose registries). */
const NOT_PUBLIC: readonly string[] = [
  ...LOOPBACK,
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
];

/** Which addresses may be connected to. */
export interface AddressRules {
  /** Why a request to this origin must not be made, in a few words; undefined where it may. */
  refuseOrigin(origin: URL): string | undefined;
  /** Why this resolved address of the host must not be connected to; undefined where it may. */
  refuseAddress(host: string, address: string): string | undefined;
}

/**
 * https only outside loopback; loopback only where the origin itself says so; private, link-local and other
 * non-public ranges only where `allowedNetworks` (CIDR) names them.
 */
export function createAddressRules(allowedNetworks: readonly string[] = []): AddressRules {
  const loopback = rangeSet(LOOPBACK);
  const notPublic = rangeSet(NOT_PUBLIC);
  const allowed = rangeSet(allowedNetworks);
  const isLoopbackHost = (host: string) => host === 'localhost' || contains(loopback, host);

  const refuseAddress = (host: string, address: string): string | undefined => {
    if (isLoopbackHost(host)) {
      return contains(loopback, address) ? undefined : 'a loopback name leads to another machine';
    }
    if (!contains(notPublic, address) || contains(allowed, address)) return undefined;
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

/** A set of CIDR ranges. Throws where one is malformed, naming it. */
function rangeSet(ranges: readonly string[]): BlockList {
  const set = new BlockList();
  for (const range of ranges) {
    const [address = '', bits = ''] = range.split('/');
    if (isIP(address) === 0 || !/^\d{1,3}$/.test(bits)) {
      throw new TypeError(`"${range}" is no network: write it as address/bits, e.g. 10.0.0.0/8`);
    }
    set.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return set;
}

function contains(set: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && set.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
