import { passTransitions } from '../instances/boot.ts';
import { holdContract, machinesBack, startContract } from '../instances/contract-state.ts';
import type { Contract } from '../tables/contracts.ts';
import type { Offer } from '../tables/market.ts';
import { chance } from '../world/chance.ts';
import type { World } from '../world/world.ts';
import { rowsOf, withRows } from '../world/world-store.ts';
import type { AdvanceStep } from './advance.ts';

/** Moves each contract to the last state of its timeline that is due. */
function passAll(world: World, until: number): World {
  const passed = rowsOf(world.tables.contracts)
    .filter((contract) => (contract.timeline[0]?.at ?? Number.POSITIVE_INFINITY) <= until)
    .map((contract) => passTransitions(contract, until, world.settings));
  return withRows(world, 'contracts', passed);
}

/** Continues boots, starts and reboots. PURE. */
export const transitionsStep: AdvanceStep = {
  name: 'transitions',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const contract of rowsOf(world.tables.contracts)) {
      const first = contract.timeline[0];
      if (first && first.at < next) next = first.at;
    }
    return next;
  },
  run: (world) => passAll(world, world.now),
  runUntil: passAll,
};

/** Brings machines back when their outage is over, except dead ones. PURE. */
export const outagesStep: AdvanceStep = {
  name: 'outages',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const machine of rowsOf(world.tables.machines)) {
      if (machine.stateUntil !== null && machine.stateUntil < next) next = machine.stateUntil;
    }
    return next;
  },
  run(world) {
    const over = rowsOf(world.tables.machines).filter(
      (machine) => machine.stateUntil !== null && machine.stateUntil <= world.now,
    );
    return machinesBack(world, over);
  },
};

/*
 * The market for interruptible machines. Bid prices change; a machine whose bid is below the price is stopped, and
 * resumes when its bid suffices again. PURE.
 */

/** Returns the first multiple of the interval after `time`. */
function nextTick(time: number, intervalMs: number): number {
  return (Math.floor(time / intervalMs) + 1) * intervalMs;
}

function movedBid(world: World, offer: Offer): Offer {
  const share = chance(world.seed, offer.id, world.now) * 2 - 1;
  const moved = offer.minBidPerHour * (1 + share * world.settings.market.bidVolatility);
  const floor = offer.gpuPricePerHour * 0.2;
  const minBidPerHour = Math.round(Math.min(offer.gpuPricePerHour, Math.max(floor, moved)));
  return { ...offer, minBidPerHour };
}

/** Bid prices move every `market.bidChangeSeconds`. */
export const bidPricesStep: AdvanceStep = {
  name: 'bid prices',
  nextAt(world) {
    const seconds = world.settings.market.bidChangeSeconds;
    const last = world.counters.bidPricesAt ?? 0;
    return seconds > 0 ? nextTick(Math.max(last, 0), seconds * 1000) : Number.POSITIVE_INFINITY;
  },
  run(world) {
    const moved = rowsOf(world.tables.offers).map((offer) => movedBid(world, offer));
    return { ...withRows(world, 'offers', moved), counters: { ...world.counters, bidPricesAt: world.now } };
  },
};

/** Returns true if its bid is below the present price of the machine. */
function isOutbid(world: World, contract: Contract): boolean {
  const offer = world.tables.offers[contract.offerId];
  return contract.isBid && offer !== undefined && (contract.bidPerHour ?? 0) < offer.minBidPerHour;
}

function needsHold(world: World, contract: Contract): boolean {
  return contract.blockedBy === null && contract.intendedStatus === 'running' && isOutbid(world, contract);
}

function mayResume(world: World, contract: Contract): boolean {
  return (
    contract.blockedBy === 'outbid' && contract.intendedStatus === 'running' && !isOutbid(world, contract)
  );
}

/** SoldToOther machines stop, and resume after a higher bid or a lower price. */
export const outbidStep: AdvanceStep = {
  name: 'outbid',
  nextAt(world) {
    const due = rowsOf(world.tables.contracts).some(
      (contract) => contract.isBid && (needsHold(world, contract) || mayResume(world, contract)),
    );
    return due ? world.now : Number.POSITIVE_INFINITY;
  },
  run(world) {
    const changed: Contract[] = [];
    for (const contract of rowsOf(world.tables.contracts)) {
      if (!contract.isBid) continue;
      if (needsHold(world, contract)) changed.push(holdContract(contract, world.now, 'outbid'));
      else if (mayResume(world, contract)) changed.push(startContract(contract, world.now, world.settings));
    }
    return withRows(world, 'contracts', changed);
  },
};
