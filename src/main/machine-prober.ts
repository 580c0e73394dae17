import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type AddressMapping, mapAddress } from '../config/values.ts';
import type { Prober } from '../controllers/gpu-instance/probe/probe.ts';
import { createProber } from '../controllers/gpu-instance/probe/probe-connection.ts';

/**
 * Probes machines at the addresses that their marketplace names. A name is resolved first, so that the address
 * which is judged is the one that is dialled.
 */
export function createMachineProber(addressMap: readonly AddressMapping[]): Prober {
  const ask = createProber((address) => mapAddress(addressMap, address));
  return async (target) => {
    if (isIP(target.host) !== 0) return ask(target);
    try {
      const { address } = await lookup(target.host);
      return await ask({ ...target, host: address });
    } catch {
      return 'The name of the machine has no address.';
    }
  };
}
