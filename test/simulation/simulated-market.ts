import type { MachineRow } from '../../src/market/machine.ts';
import type { Market, MarketFacts, MarketOptions } from '../../src/market/market.ts';
import type { Offer } from '../../src/market/offer.ts';
import { openMarket } from '../../src/markets/catalog.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { rowsOf } from '../../src/simulator/world/world-store.ts';
import { toyFacts } from '../builders/toy-market.ts';

/** Markets that a world may have. */
export const MARKET_NAMES = ['vast', 'toy'] as const;
export type MarketName = (typeof MARKET_NAMES)[number];

/** Capability of a market that actions of people and faults may need. */
export type Capability = 'bids' | 'hosts' | 'labels' | 'selfEnd' | 'stop' | 'utilization';

/** Returns true if a market has a capability. */
export function offers(
  { hasBids, hasStop, hasUtilization, label, namesHosts, selfEnd }: MarketFacts,
  capability: Capability,
): boolean {
  const labels = label.kept !== 'never';
  return {
    ...{ bids: hasBids, hosts: namesHosts, labels, stop: hasStop, utilization: hasUtilization },
    selfEnd: selfEnd !== undefined,
  }[capability];
}

/** Capability that each fault of the service needs: without it, the fault has no effect. */
const FAULT_NEEDS: Readonly<Record<string, Capability>> = {
  'create-stopped': 'stop',
  'cannot-start': 'stop',
  'credit-out': 'stop',
  outbid: 'bids',
  duplicated: 'labels',
};
const FIELD_NEEDS: Readonly<Record<string, Capability>> = { label: 'labels', intended_status: 'stop' };

/** Returns the capability that a fault needs; undefined if it affects any market. */
export function needOfFault({
  name,
  field,
  value,
}: Readonly<Record<string, unknown>>): Capability | undefined {
  if (name === 'wrong-field') return value === 'stopped' ? 'stop' : FIELD_NEEDS[String(field)];
  return FAULT_NEEDS[String(name)];
}

/** A market of a world: what it can do, how many hosts ask for one price, and how a process opens it. */
export interface SimulatedMarket {
  readonly facts: MarketFacts;
  readonly hostsPerPrice: number;
  open(simulator: Simulator): typeof openMarket;
}

/** The markets by name. All of them rent out the machines of one simulator, whose ledger is the oracle. */
export const SIMULATED_MARKETS: Readonly<Record<MarketName, SimulatedMarket>> = {
  vast: { facts: vastFacts, hostsPerPrice: 1, open: () => openMarket },
  toy: {
    facts: toyFacts,
    hostsPerPrice: 4,
    open: (simulator) => (_name, options) => openToy(simulator, options),
  },
};

/**
 * Opens the toy market in front of the simulator: machine types instead of offers, no labels, no stop, no bids, and
 * no IDs of machines and hosts. Its calls reach the simulator as its own, so that every fault affects them.
 */
function openToy(simulator: Simulator, options: MarketOptions): Market {
  const { store } = simulator;
  const hosts = openMarket('Vast', options);
  const kindOf = (offerId: string): string | undefined => {
    const offer = store.current().tables.offers[Number(offerId)];
    if (!offer) return undefined;
    const { gpu_name: gpu, num_gpus: count, direct_port_count: ports } = offer.columns;
    return `${gpu}/${count}/${offer.gpuPricePerHour}${ports === 0 ? '/without ports' : ''}`;
  };
  const freeHost = (kind: string): string | undefined => {
    const free = rowsOf(store.current().tables.offers).filter(
      ({ id, rentedBy }) => rentedBy === null && kindOf(String(id)) === kind,
    );
    // Customers get the hosts of a kind in turn, also if a call before has not been carried out yet.
    const turn = turns.get(simulator) ?? 0;
    turns.set(simulator, turn + 1);
    const host = free[turn % free.length];
    return host && String(host.id);
  };
  return {
    about: toyFacts,
    async offers(query, call) {
      if (query.pricing === 'bid') return [];
      const kinds = new Map<string, Offer>();
      for (const offer of await hosts.offers(query, call)) {
        const id = kindOf(offer.id);
        if (id === undefined) continue;
        const { stock = 0 } = kinds.get(id) ?? {};
        kinds.set(id, {
          ...(kinds.get(id) ?? offer),
          ...{ id, stock: stock + 1, machineId: undefined, hostId: undefined },
        });
      }
      return [...kinds.values()];
    },
    // A kind without a free host is refused by the service, as an offer that is gone.
    rent: (kind, request, call) => hosts.rent(freeHost(kind) ?? NO_OFFER, request, call),
    async machines(call) {
      const { machines } = await hosts.machines(call);
      return { machines: machines.map(shownByToy) };
    },
    async machine(id, call) {
      const row = await hosts.machine(id, call);
      return row && shownByToy(row);
    },
    destroy: (id, call) => hosts.destroy(id, call),
    login: (call) => hosts.login(call),
    mayDestroy: (call) => hosts.mayDestroy(call),
  };
}

const NO_OFFER = '1';
/** Rent calls of a simulated service so far. */
const turns = new WeakMap<Simulator, number>();

function shownByToy(row: MachineRow): MachineRow {
  return {
    ...row,
    label: undefined,
    machineId: undefined,
    hostId: undefined,
    intendedPower: undefined,
    power: undefined,
    interruptible: false,
  };
}
