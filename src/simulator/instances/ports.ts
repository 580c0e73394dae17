import type { Contract } from '../tables/contracts.ts';
import type { Offer } from '../tables/offers.ts';
import { rowsOf } from '../world/remembered.ts';
import type { World } from '../world/world.ts';
import { openedPorts } from './container-options.ts';

/* Which host ports a machine hands out: unique over the whole market, so that loopback can stand for it. PURE. */

/** Container ports that a rental opens on a machine with direct ports. */
export function containerPorts(runtype: string, env: Readonly<Record<string, string>>): readonly string[] {
  const ports = new Set<string>(runtype === 'args' ? [] : ['22/tcp']);
  if (runtype.includes('jupyter')) ports.add('8080/tcp');
  for (const port of openedPorts(env)) ports.add(port);
  return [...ports];
}

/** Host ports by container port; empty where the machine has no direct ports. */
export function assignPorts(
  world: World,
  wanted: readonly string[],
  offer: Offer,
): Pick<Contract, 'ports' | 'sshPort'> {
  const free = freePorts(world, wanted.length + 1);
  const [sshPort = world.settings.addresses.portBase, ...rest] = free;
  if (offer.columns.direct_port_count === 0) return { ports: {}, sshPort };
  const others = wanted.filter((port) => port !== '22/tcp');
  const ports = Object.fromEntries(others.map((port, index) => [port, rest[index] ?? 0]));
  return wanted.includes('22/tcp') ? { ports: { '22/tcp': sshPort, ...ports }, sshPort } : { ports, sshPort };
}

/** The next ports that no live contract holds, in turn, so that none is reused at once; shared when all are taken. */
function freePorts(world: World, count: number): readonly number[] {
  const { portBase, portCount } = world.settings.addresses;
  const taken = new Set<number>();
  for (const contract of rowsOf(world.tables.contracts)) {
    taken.add(contract.sshPort);
    for (const port of Object.values(contract.ports)) taken.add(port);
  }
  const start = ((world.counters.contract ?? 0) * 7) % portCount;
  const found: number[] = [];
  for (let step = 0; step < portCount && found.length < count; step += 1) {
    const port = portBase + ((start + step) % portCount);
    if (!taken.has(port)) found.push(port);
  }
  while (found.length < count) found.push(portBase + ((start + found.length) % portCount));
  return found;
}
