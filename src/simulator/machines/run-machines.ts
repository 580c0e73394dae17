import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, Timer } from '../../lib/clock.ts';
import { programOf } from '../instances/container-program.ts';
import { containerOf, exitContract } from '../instances/contract-state.ts';
import type { MachineDisks } from '../machine-files.ts';
import type { Contract } from '../tables/contracts.ts';
import type { World } from '../world/world.ts';
import type { WorldStore } from '../world/world-store.ts';
import { findIsolation, type Isolation, withoutNamespaces } from './isolation.ts';
import { createFolders, realFiles, writeMachineFile } from './machine-folder.ts';
import { MachineLog } from './machine-log.ts';
import { type MachineProcess, startMachineProcess } from './machine-process.ts';
import { type ProcessGuard, startGuard } from './process-guard.ts';
import {
  CERTIFICATES_PATH,
  environmentOf,
  firstCommand,
  KEYS_PATH,
  loginKeys,
  SCRIPT_PATH,
} from './start-command.ts';

/*
 * Machines that run as processes of this computer. The world decides: a machine whose contract runs has a process,
 * and any other has none. The world learns only one fact from here: that a process ended.
 */

/** Options of machines that run as processes. */
export interface RunOptions {
  /** Maximum machines at one time. */
  readonly max: number;
  /** Certificates (PEM) that machines trust exclusively; undefined for those of this computer. */
  readonly certificates?: string | undefined;
  /** Programs share `/tmp`, `/var/tmp` and `/proc` with this computer even if namespaces are permitted. */
  readonly withoutNamespaces?: boolean;
  /** Called with a sentence for the person who runs the simulator. */
  readonly report: (text: string) => void;
}

/** Running machines of a simulator. */
export interface RunningMachines {
  readonly disks: MachineDisks;
  /** Starts and ends processes to match the world. */
  follow(): void;
  /** Ends every process and deletes every folder. */
  close(): Promise<void>;
}

interface Parts {
  readonly options: RunOptions;
  readonly store: WorldStore;
  readonly clock: Clock;
  /** Returns the world advanced to now, or to the point that it has reached. */
  readonly world: () => World;
  /** Called after the world learned of an end. */
  readonly saved: () => void;
}

/** A machine of this computer. */
interface Body {
  readonly root: string;
  readonly pipe: string;
  readonly log: MachineLog;
  /** Number of the container that the disk is of. */
  container: number;
  /** Last written text of its `authorized_keys`. */
  keys: string | undefined;
  /** Start of the last run, as the world names it. */
  startedAt: number | undefined;
  process: MachineProcess | undefined;
  isEnding: boolean;
}

const CHECK_EVERY_MS = 100;

/** Follows the world every 100 ms, and by {@link RunningMachines.follow}. */
export function runMachines(parts: Parts): RunningMachines {
  return new Machines(parts);
}

class Machines implements RunningMachines {
  readonly disks: MachineDisks;
  readonly #parts: Parts;
  readonly #folder: string;
  readonly #guard: ProcessGuard;
  readonly #isolation: Isolation;
  readonly #bodies = new Map<number, Body>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#folder = mkdtempSync(join(tmpdir(), 'gpu-rent-machines-'));
    this.#guard = startGuard(this.#folder);
    this.#isolation = this.#findIsolation();
    this.disks = {
      files: (contract) => realFiles(this.#bodyOf(contract).root),
      log: (contract, max) => this.#bodies.get(contract.id)?.log.lines(max) ?? [],
    };
    this.#check();
  }

  follow(): void {
    if (this.#isClosed) return;
    const world = this.#parts.world();
    for (const contract of Object.values(world.tables.contracts)) this.#followOne(world, contract);
    for (const [id, body] of this.#bodies) if (!world.tables.contracts[id]) this.#remove(id, body);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await Promise.all([...this.#bodies.values()].flatMap(({ process }) => (process ? [process.end(0)] : [])));
    await this.#guard.close();
  }

  #check(): void {
    this.follow();
    this.#timer = this.#parts.clock.setTimer(CHECK_EVERY_MS, () => this.#check(), { background: true });
  }

  #findIsolation(): Isolation {
    const { options } = this.#parts;
    if (options.withoutNamespaces) return withoutNamespaces('not requested');
    const probe = join(this.#folder, 'probe');
    createFolders(probe);
    const found = findIsolation(probe);
    if (!found.hasNamespaces)
      options.report(
        `Machines share /tmp, /var/tmp and /proc with this computer, because it permits no namespaces: ${found.problem}.`,
      );
    return found;
  }

  #followOne(world: World, contract: Contract): void {
    const startsAt = runOf(world, contract);
    const body = startsAt === undefined ? this.#bodies.get(contract.id) : this.#bodyOf(contract);
    if (!body) return;
    if (startsAt !== undefined) updateKeys(world, contract, body);
    if (body.process) {
      if (body.startedAt !== startsAt) this.#end(contract.id, body);
    } else if (startsAt !== undefined && body.startedAt !== startsAt && this.#hasRoom(contract)) {
      body.startedAt = startsAt;
      this.#start(world, contract, body);
    }
  }

  #bodyOf(contract: Contract): Body {
    const known = this.#bodies.get(contract.id);
    if (known) return known;
    const folder = join(this.#folder, String(contract.id));
    const root = join(folder, 'root');
    mkdirSync(folder, { recursive: true });
    const body: Body = {
      ...{ root, pipe: join(folder, 'output'), log: new MachineLog(), container: containerOf(contract) },
      ...{ keys: undefined, startedAt: undefined, process: undefined, isEnding: false },
    };
    createFolders(root);
    this.#bodies.set(contract.id, body);
    return body;
  }

  #hasRoom(contract: Contract): boolean {
    const { max, report } = this.#parts.options;
    const running = [...this.#bodies.values()].filter(({ process }) => process !== undefined).length;
    if (running < max) return true;
    report(`Machine ${contract.id} is not started: ${max} machines run already.`);
    return false;
  }

  #start(world: World, contract: Contract, body: Body): void {
    const { options, clock } = this.#parts;
    try {
      this.#prepareDisk(contract, body);
      const program = programOf(contract, world.settings);
      const { root, pipe, log } = body;
      if (program.type === 'script') writeMachineFile(root, SCRIPT_PATH, program.text);
      const { onstartInLog } = world.settings.containers;
      const first = firstCommand(program, {
        onstartInLog,
        hasNamespaces: this.#isolation.hasNamespaces,
      });
      const hasCertificates = options.certificates !== undefined;
      const env = environmentOf(world, contract, { isolation: this.#isolation, root, hasCertificates });
      const command = this.#isolation.wrap(root, first);
      const onOutput = (bytes: Uint8Array): void => log.append(bytes);
      body.process = startMachineProcess({ ...{ command, env, pipe, clock, onOutput }, guard: this.#guard });
      const { process, startedAt } = body;
      process.ended
        .then(() => this.#ended(contract.id, { body, process, startedAt }))
        .catch((error: unknown) => this.#failed(contract.id, error));
    } catch (error) {
      this.#failed(contract.id, error);
      this.#exited(contract.id);
    }
  }

  #prepareDisk(contract: Contract, body: Body): void {
    const container = containerOf(contract);
    if (container !== body.container) {
      rmSync(body.root, { recursive: true, force: true });
      body.keys = undefined;
    }
    body.container = container;
    createFolders(body.root);
    updateKeys(this.#parts.store.current(), contract, body);
    const { certificates } = this.#parts.options;
    if (certificates !== undefined) writeMachineFile(body.root, CERTIFICATES_PATH, certificates);
  }

  #end(id: number, body: Body): void {
    if (body.isEnding) return;
    body.isEnding = true;
    const { stopGraceSeconds } = this.#parts.store.current().settings.containers;
    body.process?.end(stopGraceSeconds * 1000).catch((error: unknown) => this.#failed(id, error));
  }

  #ended(
    id: number,
    { body, process, startedAt }: Pick<Body, 'startedAt'> & { body: Body; process: MachineProcess },
  ): void {
    if (body.process !== process) return;
    body.process = undefined;
    const wasAsked = body.isEnding;
    body.isEnding = false;
    if (this.#isClosed) return;
    const world = this.#parts.world();
    const contract = world.tables.contracts[id];
    if (!wasAsked && contract && runOf(world, contract) === startedAt) this.#exited(id);
    this.follow();
  }

  #failed(id: number, error: unknown): void {
    this.#parts.options.report(`Machine ${id} does not run as it should: ${String(error)}`);
  }

  /** Reports to the world that the program of a container ended. */
  #exited(id: number): void {
    const { store, saved } = this.#parts;
    const { now, settings, tables } = store.current();
    const contract = tables.contracts[id];
    if (!contract) return;
    store.put('contracts', exitContract(contract, now, settings));
    saved();
  }

  /** Removes the disk of a destroyed machine when its processes have ended. */
  #remove(id: number, body: Body): void {
    if (body.process) {
      this.#end(id, body);
      return;
    }
    this.#bodies.delete(id);
    rmSync(join(body.root, '..'), { recursive: true, force: true });
  }
}

/** Writes the public keys of the account and of the machine, if they changed: the service keeps them in each container. */
function updateKeys(world: World, contract: Contract, body: Body): void {
  const keys =
    contract.runtype === 'args'
      ? ''
      : loginKeys(world, contract)
          .map((key) => `${key}\n`)
          .join('');
  if (keys === (body.keys ?? '')) return;
  writeMachineFile(body.root, KEYS_PATH, keys);
  body.keys = keys;
}

/** Returns the start of the present run of a contract in the world; undefined if it does not run. */
function runOf(world: World, contract: Contract): number | undefined {
  if (contract.actualStatus !== 'running') return undefined;
  return world.tables.machines[contract.machineId]?.state === 'dead' ? undefined : contract.statusSince;
}
