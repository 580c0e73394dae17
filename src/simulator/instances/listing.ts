import { callerOf, type RouteContext } from '../calls/route.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Contract } from '../tables/contracts.ts';
import type { ActiveFault } from '../tables/faults.ts';
import { rowsOf } from '../world/remembered.ts';
import { shownStatus } from './boot.ts';
import { instanceJson, instanceRow } from './instance-row.ts';

/*
 * Which contracts a list shows to its caller, oldest first. The truth, less what lags, bent by the faults
 * that concern lists.
 */

/** Contracts of the caller as lists show them at this moment. */
export function listedContracts(ctx: RouteContext): readonly Contract[] {
  const userId = callerOf(ctx).user.id;
  const base = ctx.fault('stale-list')?.snapshot ?? rowsOf(ctx.world.tables.contracts);
  const youngest = ctx.now - lagMs(ctx);
  const listed = base.filter((contract) => contract.userId === userId && contract.createdAt <= youngest);
  if (!ctx.fault('ghost-rows')) return listed;
  const ghosts = rowsOf(ctx.world.tables.endedContracts).filter((ended) => ended.userId === userId);
  return [...listed, ...ghosts.map((ended) => ended.last)].sort((left, right) => left.id - right.id);
}

function lagMs(ctx: RouteContext): number {
  const fault = ctx.fault('lagging-list');
  return (fault ? (fault.seconds ?? 30) : ctx.settings.lists.lagSeconds) * 1000;
}

/** Status faults in force for this call; asked for once per call, so that a whole list agrees. */
export interface StatusFaults {
  readonly unknownWord: ActiveFault | undefined;
  readonly flap: ActiveFault | undefined;
  /** Whether a flapping row shows its other side in this look. */
  readonly flapped: boolean;
}

/** Looks for the faults that change status words. */
export function statusFaults(ctx: RouteContext, contract?: Contract): StatusFaults {
  const target = contract ? { instance: contract.id, host: contract.hostId } : undefined;
  const flap = ctx.fault('flap', target);
  return {
    unknownWord: ctx.fault('unknown-status', target),
    flap,
    flapped: flap !== undefined && ctx.write.nextId(`flap-${flap.id}`) % 2 === 0,
  };
}

/** The row of a contract with status faults applied. */
export function shownRow(ctx: RouteContext, contract: Contract, faults: StatusFaults): JsonObject {
  return instanceRow(contract, {
    world: ctx.world,
    profile: ctx.profile,
    word: bentStatus(contract, faults),
  });
}

/** The JSON text of {@link shownRow}. */
export function shownJson(ctx: RouteContext, contract: Contract, faults: StatusFaults): string {
  return instanceJson(contract, {
    world: ctx.world,
    profile: ctx.profile,
    word: bentStatus(contract, faults),
  });
}

/** The status word that a list filters by and shows. */
export function statusOf(ctx: RouteContext, contract: Contract, faults: StatusFaults): string | null {
  return bentStatus(contract, faults) ?? shownStatus(contract, ctx.world.tables.machines[contract.machineId]);
}

function bentStatus(contract: Contract, faults: StatusFaults): string | undefined {
  if (concerns(faults.unknownWord, contract)) return 'quantum-entangled';
  if (concerns(faults.flap, contract) && faults.flapped) return 'unknown';
  return undefined;
}

function concerns(fault: ActiveFault | undefined, contract: Contract): boolean {
  if (!fault) return false;
  if (fault.instance !== null) return fault.instance === contract.id;
  return fault.host === null || fault.host === contract.hostId;
}

/** How many contracts carry each label; none counts under the empty text. */
export function labelCounts(contracts: readonly Contract[]): Record<string, Json> {
  const counts = new Map<string, number>();
  for (const { label } of contracts) counts.set(label ?? '', (counts.get(label ?? '') ?? 0) + 1);
  return Object.fromEntries(counts);
}
