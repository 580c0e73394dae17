import { BlockList, isIP } from 'node:net';

/** Networks with a meaning of their own, as CIDR (IANA special-purpose registries, and RFC 3879 for `fec0::/10`). */
export const NETWORKS = {
  /** The machine itself. */
  loopback: ['127.0.0.0/8', '::1/128'],
  /** Nobody stands there who is meant: this network, link-local with its metadata services, many at once, reserved. */
  unusable: [
    '0.0.0.0/8',
    '169.254.0.0/16',
    '192.0.0.0/24',
    '198.18.0.0/15',
    '224.0.0.0/4',
    '240.0.0.0/4',
    '::/128',
    '100::/64',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
    // Azure answers machines of its own under this one, which is public in every other respect.
    '168.63.129.16/32',
  ],
  /** IPv6 that leads to an IPv4 address within it: compatible, NAT64, Teredo, 6to4. */
  embedding: ['::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16'],
  /** Networks of clusters and companies. */
  private: ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
  /** Written in texts and by simulators; nobody is there. */
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
} as const satisfies Record<string, readonly string[]>;

/** Whether an address is one of a set of networks; a text that is no address is in none. */
export type NetworkSet = (address: string) => boolean;

/**
 * The addresses of these networks (CIDR). An IPv4 address in IPv6 clothes (`::ffff:10.0.0.1`) counts as what it is.
 * Throws `TypeError` where a network is malformed, naming it.
 */
export function networkSet(networks: readonly string[]): NetworkSet {
  const set = new BlockList();
  for (const network of networks) {
    const slash = network.lastIndexOf('/');
    const address = network.slice(0, slash);
    const bits = network.slice(slash + 1);
    const family = familyOf(address);
    if (!family || !/^\d{1,3}$/.test(bits)) {
      throw new TypeError(`"${network}" is no network: write it as address/bits, e.g. 10.0.0.0/8`);
    }
    set.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const family = familyOf(address);
    return family !== undefined && set.check(address, family);
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 0 ? undefined : version === 6 ? 'ipv6' : 'ipv4';
}

/** What the operator's settings say of addresses of machines. */
export interface AddressPolicy {
  /** `--allow-private-addresses`. */
  readonly allowPrivate: boolean;
}

/** Holds every plain IPv4 address as well: to a set the two are the same. */
const mapped = networkSet(['::ffff:0:0/96']);

const NEVER: readonly { readonly has: NetworkSet; readonly problem: string }[] = [
  { has: (address) => isIP(address) === 0 || address.includes('%'), problem: 'is no IP address' },
  { has: (address) => isIP(address) === 6 && mapped(address), problem: 'is an IPv4 address written as IPv6' },
  {
    has: networkSet([...NETWORKS.loopback, ...NETWORKS.unusable]),
    problem: 'is a loopback, link-local, multicast or reserved address',
  },
  { has: networkSet(NETWORKS.embedding), problem: 'is an IPv6 address that leads to an IPv4 address' },
];

const isPrivate = networkSet(NETWORKS.private);

/**
 * Why an address that a marketplace names for a machine may be neither published, nor asked, nor probed; undefined
 * where it may. A marketplace is not to be trusted with the operator's own network. Networks of documentation are
 * let through: nobody is there, and simulated machines have them.
 */
export function machineAddressProblem(address: string, { allowPrivate }: AddressPolicy): string | undefined {
  const refused = NEVER.find(({ has }) => has(address));
  if (refused) return refused.problem;
  if (allowPrivate || !isPrivate(address)) return undefined;
  return 'is a private or cluster address';
}
