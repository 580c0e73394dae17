import { isIP } from 'node:net';
import { NETWORKS, type NetworkSet, networkSet } from './networks.ts';

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
