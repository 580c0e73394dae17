import { exitContract, stopContract } from '../instances/contract-state.ts';
import { endedWith, plannedExitCode, plannedSeconds, runScriptOf } from '../instances/run-program.ts';
import type { Contract } from '../tables/contracts.ts';
import type { World } from '../world/world.ts';
import { rowsOf, withRows } from '../world/world-store.ts';
import type { AdvanceStep } from './advance.ts';

/** Pause after which a program whose host is offline asks again to be stopped. */
const REPEAT_MS = 60_000;

/** Returns the end of the program of a contract; infinite if it does not run, or does not end. */
function endOf({ actualStatus, programEndsAt }: Contract): number {
  return actualStatus === 'running' && programEndsAt !== undefined ? programEndsAt : Number.POSITIVE_INFINITY;
}

/** Returns the next time at which a program may end: not before its container starts. */
function nextEnd(contract: Contract): number {
  if (contract.actualStatus === 'running' || plannedSeconds(contract) === undefined) return endOf(contract);
  return contract.timeline.find(({ status }) => status === 'running')?.at ?? Number.POSITIVE_INFINITY;
}

function endProgram(world: World, { programEndsAt: _, ...contract }: Contract): Contract {
  const { settings, now } = world;
  const run = runScriptOf(contract, settings);
  // In SSH mode the service's own program stays.
  if (!run) return contract.runtype === 'args' ? exitContract(contract, now, settings) : contract;
  const known = endedWith(contract, run);
  const code = known ?? plannedExitCode(contract);
  const ended: Contract = {
    ...contract,
    files: { ...contract.files, [`${run.folder}/exit.${code}.${run.nonce}`]: 0 },
    output: [
      ...(contract.output ?? []),
      ...(known === undefined ? [`simulated program ends with exit code ${code}`] : []),
      ...['', `gpurental ${run.nonce} exit ${code}`],
    ],
  };
  if (!settings.containers.imageHasClient) return ended;
  const state = world.tables.machines[contract.machineId]?.state;
  if (state === 'up') return stopContract(ended, now, settings);
  return state === 'dead' ? ended : { ...ended, programEndsAt: now + REPEAT_MS };
}

/** Ends programs of modelled machines: the container exits, or a start text that reports the end stops its machine. */
export const programsStep: AdvanceStep = {
  name: 'programs',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const contract of rowsOf(world.tables.contracts)) next = Math.min(next, nextEnd(contract));
    return next;
  },
  run(world) {
    const due = rowsOf(world.tables.contracts).filter((contract) => endOf(contract) <= world.now);
    return withRows(
      world,
      'contracts',
      due.map((contract) => endProgram(world, contract)),
    );
  },
};
