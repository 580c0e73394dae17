import { createHash } from 'node:crypto';
import type {
  SshCommand,
  SshResult,
  SshRunner,
} from '../../../src/controllers/gpu-instance/lease-renewal.ts';
import { readText } from '../../../src/runtime/kube/json-stream.ts';
import { containerOf } from '../../../src/simulator/instances/contract-state.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { rowsOf } from '../../../src/simulator/world/world-store.ts';
import type { Chance } from '../chance.ts';
import type { Machine } from '../machine.ts';
import { isObject } from '../memory-kube/json.ts';
import type { Process, SimulatedWorld } from '../world.ts';
import { type Fuse, FuseFolder, FuseProcess, fuseIn, type RenewalRequest } from './fuse-model.ts';

/** Time that a client of a machine waits for a marketplace that does not answer. */
const CALL_TIMEOUT_MS = 30_000;
const FOLDER = 'var/tmp/.gpurental';
/** Comment of the key of every operator, which machines know it by. */
const OPERATOR_KEY = / gpu-rental-operator$/;

/** Run of a container, from a start to its end. */
interface Run {
  readonly startedAt: number;
  readonly fuse: FuseProcess;
  /** When the lease was last renewed, and how long the machine had run then; undefined before the first time. */
  renewed: { readonly at: number; readonly ranMs: number } | undefined;
}

/** A machine with a fuse, as the world knows it. */
export interface FuseMachine {
  readonly id: number;
  readonly fuse: Fuse;
  readonly clients: number;
  folder: FuseFolder;
  container: number;
  /** Present run; undefined while the container does not run. */
  run: Run | undefined;
  /** Starts of its containers so far. */
  starts: number;
  /** Milliseconds for which containers of the machine have run, without pauses and waits for the marketplace. */
  ranMs: number;
  pausedUntil: number;
  countedAt: number;
  calls: number;
}

/** A machine that the world has not seen before. */
export interface Arrival {
  readonly id: number;
  readonly fuse: Fuse | undefined;
}

/** A call by which a machine ended itself. */
export interface SelfEnd {
  readonly machine: FuseMachine;
  readonly at: number;
  readonly isByLife: boolean;
  readonly isByLease: boolean;
}

export interface FuseMachinesOptions {
  readonly world: SimulatedWorld;
  readonly chance: Chance;
  /** Called with each new machine, with or without a fuse. */
  readonly onArrival: (arrival: Arrival) => void;
  readonly onEnd: (end: SelfEnd) => void;
  readonly onWrong: (text: string) => void;
  /** True if no request reaches an operator now. */
  readonly isOperatorAway: () => boolean;
}

/** The machines of a world whose start texts have fuses: each runs the model of its text, with its own key. */
export class FuseMachines {
  readonly #options: FuseMachinesOptions;
  readonly #world: SimulatedWorld;
  readonly #machines = new Map<number, FuseMachine>();
  readonly #known = new Set<number>();
  /** Milliseconds that one turn of a fuse takes beside its sleep. */
  readonly #turnMs: number;
  #rows: readonly Contract[] | undefined;
  /** Until when machines do not reach the marketplace. */
  #isolatedUntil = 0;
  /** Until when processes do not reach machines. */
  #cutUntil = 0;
  /** Renewals of leases so far. */
  renewals = 0;

  constructor(options: FuseMachinesOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#turnMs = 5 + options.chance.below(45);
  }

  all(): readonly FuseMachine[] {
    return [...this.#machines.values()];
  }

  get isIsolated(): boolean {
    return this.#world.now < this.#isolatedUntil;
  }

  /** End of the last time for which machines did not reach the marketplace, or do not. */
  get isolatedUntil(): number {
    return this.#isolatedUntil;
  }

  /** Takes the marketplace from the machines for that long. */
  isolate(ms: number): void {
    this.#isolatedUntil = Math.max(this.#isolatedUntil, this.#world.now + ms);
  }

  /** Takes the SSH ports of machines from processes for that long. */
  cutSsh(ms: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, this.#world.now + ms);
  }

  /** Freezes the host of a machine for that long. */
  pause(machine: FuseMachine, ms: number): void {
    this.#count(machine);
    machine.pausedUntil = Math.max(machine.pausedUntil, this.#world.now + ms);
  }

  /** Renews a lease as a program on the machine does. */
  renewByProgram(machine: FuseMachine): void {
    if (machine.run && this.#world.now >= machine.pausedUntil) this.#renew(machine, machine.run);
  }

  /** Follows the world up to now: called after each of its steps. */
  follow(): void {
    const rows = rowsOf(this.#world.market.world().tables.contracts);
    if (rows === this.#rows) return;
    this.#rows = rows;
    const live = new Set<number>();
    for (const contract of rows) {
      live.add(contract.id);
      this.#followOne(contract);
    }
    for (const [id, machine] of this.#machines) {
      if (live.has(id)) continue;
      this.#stop(machine);
      this.#machines.delete(id);
    }
  }

  /** Returns the time for which containers of the machine have run. */
  ranMs(machine: FuseMachine): number {
    this.#count(machine);
    return machine.ranMs;
  }

  /** Returns what logs in to machines for one process of the operator. */
  runSsh(process: Machine): SshRunner {
    const { scheduler } = this.#world;
    return (command) =>
      new Promise((resolve) => {
        const deliver = (result: SshResult, afterMs: number) =>
          scheduler.after(afterMs, () => process.deliver(() => resolve(result)));
        scheduler.after(20 + this.#options.chance.below(300), () => {
          if (!process.alive) return;
          const { result, afterMs } = this.#login(command);
          deliver(result, afterMs);
        });
      });
  }

  #login(command: Omit<SshCommand, 'user'>): { readonly result: SshResult; readonly afterMs: number } {
    const silent = { result: failed('no answer'), afterMs: command.timeoutMs };
    const contract = this.#contractAt(command);
    const machine = contract && this.#machines.get(contract.id);
    if (this.#world.now < this.#cutUntil || !contract || contract.actualStatus !== 'running') return silent;
    if (machine && this.#world.now < machine.pausedUntil) return silent;
    const hostKey = createHash('sha256')
      .update(`${contract.id} ${containerOf(contract)}`)
      .digest('hex');
    const afterMs = 30 + this.#options.chance.below(400);
    if (command.hostKey !== undefined && command.hostKey !== hostKey)
      return { result: { type: 'otherHost', hostKey }, afterMs };
    if (!hasOperatorKey(contract)) return { result: { type: 'keyRefused', hostKey }, afterMs };
    const exitCode = machine?.run ? 0 : 1;
    if (machine?.run) this.#renew(machine, machine.run);
    // The command is carried out, and its result is lost.
    if (this.#options.chance.isWithin(0.03)) return silent;
    return {
      result: { type: 'ended', exitCode, output: machine?.folder.names().join('\n') ?? '', hostKey },
      afterMs,
    };
  }

  #renew(machine: FuseMachine, run: Run): void {
    const before = Number(machine.folder.read('renew') ?? 0);
    machine.folder.write('renew', `${before + 1}\n`);
    run.renewed = { at: this.#world.now, ranMs: this.ranMs(machine) };
    this.renewals += 1;
  }

  #contractAt({ host, port }: Pick<SshCommand, 'host' | 'port'>): Contract | undefined {
    const { machines, contracts } = this.#world.market.store.current().tables;
    return rowsOf(contracts).find(
      ({ sshPort, machineId }) => sshPort === port && machines[machineId]?.publicAddress === host,
    );
  }

  #followOne(contract: Contract): void {
    const { id } = contract;
    const fuse = this.#machines.get(id)?.fuse ?? fuseIn(contract.onstart);
    if (!this.#known.has(id)) {
      this.#known.add(id);
      this.#options.onArrival({ id, fuse });
    }
    if (!fuse) return;
    const machine = this.#machines.get(contract.id) ?? this.#arrived(contract, fuse);
    const startsAt = contract.actualStatus === 'running' ? contract.statusSince : undefined;
    if (machine.run?.startedAt === startsAt) return;
    this.#stop(machine);
    if (startsAt !== undefined) this.#start(machine, contract, startsAt);
  }

  #arrived(contract: Contract, fuse: Fuse): FuseMachine {
    const { chance, onWrong } = this.#options;
    if (Number.isNaN(fuse.sleepSeconds + fuse.lifeStep)) onWrong('a fuse sleeps or counts in an unknown way');
    const machine: FuseMachine = {
      ...{ id: contract.id, fuse, clients: chance.oneOf([1, 1, 2, 3, 0]), folder: new FuseFolder() },
      ...{ container: containerOf(contract), run: undefined, ranMs: 0, pausedUntil: 0 },
      ...{ countedAt: this.#world.now, calls: 0, starts: 0 },
    };
    this.#machines.set(contract.id, machine);
    return machine;
  }

  #start(machine: FuseMachine, contract: Contract, startedAt: number): void {
    if (machine.container !== containerOf(contract)) machine.folder = new FuseFolder();
    machine.container = containerOf(contract);
    const fuse = new FuseProcess(machine.fuse, machine.folder, machine.clients);
    machine.countedAt = this.#world.now;
    machine.starts += 1;
    const run: Run = { startedAt, fuse, renewed: undefined };
    machine.run = run;
    this.#sleep(machine, run);
  }

  #stop(machine: FuseMachine): void {
    this.#count(machine);
    machine.run = undefined;
  }

  /** Adds the time since the last look, if the container ran in it. */
  #count(machine: FuseMachine): void {
    const { now } = this.#world;
    const from = Math.max(machine.countedAt, Math.min(machine.pausedUntil, now));
    if (machine.run) machine.ranMs += now - from;
    machine.countedAt = now;
  }

  #sleep(machine: FuseMachine, run: Run): void {
    this.#world.scheduler.after(machine.fuse.sleepSeconds * 1_000 + this.#turnMs, () =>
      this.#wake(machine, run),
    );
  }

  /** Goes on after a sleep: a sleep that ended while the host was frozen is over when that goes on. */
  #wake(machine: FuseMachine, run: Run): void {
    if (machine.run !== run) return;
    const waitMs = machine.pausedUntil - this.#world.now;
    if (waitMs > 0) {
      this.#world.scheduler.after(waitMs, () => this.#wake(machine, run));
      return;
    }
    const call = (method: 'DELETE' | 'PUT', body: string) => this.#call(machine, run, { method, body });
    const request = (asked: RenewalRequest) => void this.#requestRenewal(machine, run, asked);
    void run.fuse.tick(call, request).then(() => {
      this.#showProof(machine);
      if (!run.fuse.isOver) this.#sleep(machine, run);
    });
  }

  /** Requests a renewal of the report server. A machine without a client, or a frozen one, gets no reply. */
  async #requestRenewal(machine: FuseMachine, run: Run, { count, since }: RenewalRequest): Promise<void> {
    const { world, chance, isOperatorAway } = this.#options;
    const contract = world.market.store.current().tables.contracts[machine.id];
    if (machine.clients === 0 || !contract) return;
    await world.scheduler.pause(20 + chance.below(300));
    const { GPURENTAL_WORKER_TOKEN: mtoken, GPURENTAL_LEASE_PROOF: proof } = contract.env;
    const body = { id: String(machine.id), mtoken, count, since };
    const isCut = world.now < this.#cutUntil || isOperatorAway();
    const [process] = isCut ? [] : world.processes;
    // Another server may answer at the address of an operator that is gone.
    const reply = process ? await answerOf(process, body) : '{"success":true}';
    await world.scheduler.pause(20 + chance.below(300));
    const isLost = process !== undefined && chance.isWithin(0.03);
    if (machine.run !== run || isLost || world.now < machine.pausedUntil) return;
    const isRenewal = reply.includes(`"renew":"${proof}:${count}"`);
    if (machine.fuse.isReplyProven && !isRenewal) return;
    machine.folder.write('renew', `${count}\n`);
    if (!isRenewal) return;
    run.renewed = { at: world.now, ranMs: this.ranMs(machine) };
    this.renewals += 1;
  }

  /** Shows the file `ok` to the command by which the operator lists files. */
  #showProof(machine: FuseMachine): void {
    const { store } = this.#world.market;
    const contract = store.current().tables.contracts[machine.id];
    const path = `${FOLDER}/ok`;
    if (!contract || machine.folder.read('ok') === undefined || contract.files?.[path] !== undefined) return;
    store.put('contracts', { ...contract, files: { 'root/': 0, 'tmp/': 0, ...contract.files, [path]: 0 } });
  }

  async #call(
    machine: FuseMachine,
    run: Run,
    { method, body }: { readonly method: 'DELETE' | 'PUT'; readonly body: string },
  ): Promise<boolean> {
    const { world, chance, onEnd, onWrong } = this.#options;
    if (machine.run !== run) return false;
    const began = world.now;
    if (this.isIsolated) {
      await world.scheduler.pause(chance.isWithin(0.5) ? CALL_TIMEOUT_MS : 5);
      // A call counts nothing: the fuse counts its sleeps.
      machine.ranMs -= world.now - began;
      return false;
    }
    await world.scheduler.pause(50 + chance.below(400));
    if (machine.run !== run) return false;
    const path = machine.fuse.path.replaceAll('$' + '{CONTAINER_ID:?}', String(machine.id));
    if (path !== `/api/v0/instances/${machine.id}/`)
      onWrong(`I9: the fuse of machine ${machine.id} calls ${method} ${path}`);
    machine.calls += 1;
    const key = Object.values(world.market.store.current().tables.apiKeys).find(
      ({ instanceId }) => instanceId === machine.id,
    );
    const response = await world.market.handle({
      ...{ method, origin: `http://${machine.fuse.host}`, path, body },
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key?.secret ?? ''}` },
    });
    await readText(response.body, 100_000);
    const { lifeSeconds, leaseSeconds } = machine.fuse;
    if (method === 'DELETE' && response.status < 300) {
      world.note(`machine ${machine.id} ended itself`);
      onEnd({
        ...{ machine, at: world.now },
        isByLife: lifeSeconds !== undefined && run.fuse.count >= lifeSeconds,
        isByLease: leaseSeconds !== undefined && run.fuse.sinceRenewal >= leaseSeconds,
      });
    }
    return response.status < 300;
  }
}

/** Resolves to the body of the reply of a process, once it can answer. */
function answerOf({ machine, operator }: Process, body: object): Promise<string> {
  return new Promise((resolve) =>
    machine.deliver(() => resolve(JSON.stringify(operator.leaseReports.take(body)))),
  );
}

function hasOperatorKey({ notes }: Contract): boolean {
  const keys = Array.isArray(notes.sshKeys) ? notes.sshKeys : [];
  return keys.some((key) => isObject(key) && OPERATOR_KEY.test(String(key['key'])));
}

function failed(detail: string): SshResult {
  return { type: 'failed', detail };
}
