import { lookup } from 'node:dns/promises';
import type { Config } from '../config/options.ts';
import { mapAddress } from '../config/values.ts';
import type { Prober } from '../controllers/gpu-instance/probe/probe.ts';
import { createProber } from '../controllers/gpu-instance/probe/probe-connection.ts';

/** Probes machines at the addresses that their marketplace names, as far as the settings let them be reached. */
export function createMachineProber({
  addressMap,
  allowPrivateAddresses,
}: Pick<Config, 'addressMap' | 'allowPrivateAddresses'>): Prober {
  return createProber({
    allowPrivate: allowPrivateAddresses,
    mapAddress: (address) => mapAddress(addressMap, address),
    resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  });
}
