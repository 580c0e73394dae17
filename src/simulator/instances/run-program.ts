import { OWN_FOLDER, unpacked } from '../machine-files.ts';
import type { Settings } from '../settings.ts';
import type { Contract } from '../tables/contracts.ts';
import { programOf } from './container-program.ts';

/*
 * Model of a program that ends, for machines that are no processes. The environment of the rental plans it:
 * `SIMULATED_SECONDS` of running, and `SIMULATED_EXIT_CODE`, one for each machine of an object (`3,0`). PURE.
 */

/** Start text that runs a program to its end, and reports the exit code. */
export interface RunScript {
  /** Folder of its files, from the container's root. */
  readonly folder: string;
  readonly nonce: string;
}

const NONCE = /exit\.\*\.([A-Za-z0-9]+)/;

/** Returns the start text of a contract as a run; undefined if it does not report an end. */
export function runScriptOf(
  contract: Contract,
  settings: Pick<Settings, 'containers'>,
): RunScript | undefined {
  const program = programOf(contract, settings);
  if (program.type === 'nothing') return undefined;
  const text = program.type === 'script' ? unpacked(program.text) : program.words.join('\n');
  const [folder, nonce] = [OWN_FOLDER.exec(text)?.[1], NONCE.exec(text)?.[1]];
  return folder === undefined || nonce === undefined ? undefined : { folder, nonce };
}

/** Returns the planned seconds of the program; undefined if it runs for ever. */
export function plannedSeconds({ env }: Pick<Contract, 'env'>): number | undefined {
  const seconds = Number.parseFloat(env['SIMULATED_SECONDS'] ?? '');
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

const MAX_EXIT_CODE = 255;

/** Returns the planned exit code: the last of a list also counts for all later machines of the object. */
export function plannedExitCode({ env }: Pick<Contract, 'env'>): number {
  const codes = (env['SIMULATED_EXIT_CODE'] ?? '').split(',').map((text) => Number.parseInt(text, 10));
  const code = codes[Number(env['GPURENTAL_REPLACEMENT'] ?? 0)] ?? codes.at(-1);
  return code !== undefined && code >= 0 && code <= MAX_EXIT_CODE ? code : 0;
}

/** Returns the exit code that the files of a contract show for this run; undefined before its end. */
export function endedWith({ files = {} }: Contract, { folder, nonce }: RunScript): number | undefined {
  const prefix = `${folder}/exit.`;
  const name = Object.keys(files).find((path) => path.startsWith(prefix) && path.endsWith(`.${nonce}`));
  return name === undefined ? undefined : Number.parseInt(name.slice(prefix.length), 10);
}

/** Returns the contract of a container that has just started, with the planned end of its program. */
export function startProgram(contract: Contract, settings: Pick<Settings, 'containers'>): Contract {
  const seconds = plannedSeconds(contract);
  if (contract.actualStatus !== 'running' || seconds === undefined) return contract;
  const run = runScriptOf(contract, settings);
  if (run && endedWith(contract, run) !== undefined)
    return { ...contract, programEndsAt: contract.statusSince };
  const programEndsAt = contract.statusSince + seconds * 1000;
  if (!run) return { ...contract, programEndsAt };
  const output = contract.output ?? [];
  const line = `gpurental ${run.nonce} start`;
  const attempt = output.filter((written) => written.startsWith(line)).length + 1;
  return { ...contract, programEndsAt, output: [...output, '', `${line} ${attempt}`] };
}
