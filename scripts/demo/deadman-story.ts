import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { FUSE_GRACE_SECONDS } from '../../src/instance/self-end.ts';
import { parseDuration, parseTime } from '../../src/lib/time.ts';
import { createMachine, HAS_SSH, type Limits, type MachinePrograms } from './deadman-machines.ts';
import type { View } from './live-view.ts';
import { type Ledger, type LedgerContract, readLedger } from './simulator-control.ts';
import { applySample, DEMO_NAMESPACE, type Stage } from './stage.ts';
import { DemoFailure } from './story.ts';

/** Results of one world. */
export interface WorldOutcome {
  readonly endedByThemselves: number;
  readonly falseKills: number;
  /** Longest time that a machine was billed after the end of the cluster, in seconds. */
  readonly maxBillAfterDeathSeconds: number;
  readonly billing: number;
}

export interface WorldParts {
  readonly stage: Stage;
  readonly programs: MachinePrograms;
  readonly view: Pick<View, 'say'>;
  readonly signal: AbortSignal;
  /** Seconds that a machine counts in one. */
  readonly speed: number;
}

const LEASE = '30m';
const LEASE_SECONDS = (parseDuration(LEASE) ?? 0) / 1_000;
const SHORT_LIFE = '20m';
/** Share of the lease for which the operator is away: less than three quarters. */
const AWAY_SHARE = 0.5;
/** Share for which the demo looks on after its return. */
const AFTER_SHARE = 0.5;
const READY_TIMEOUT_MS = 90_000;
const LOOK_EVERY_MS = 250;

type Machines = Readonly<Record<string, Limits>>;

const leased = (limits: Limits): Machines => (HAS_SSH ? { lease: limits, 'lease-2': limits } : {});
const AWAY_MACHINES: Machines = { ...leased({ lease: LEASE }), life: { maxLifetime: '6h' } };
const ERASED_MACHINES: Machines = {
  ...leased({ lease: LEASE }),
  ...{ life: { maxLifetime: SHORT_LIFE }, 'life-2': { maxLifetime: SHORT_LIFE } },
};

/** A machine whose fuse has proved itself. */
interface Working {
  readonly name: string;
  readonly id: string;
  readonly renewedAt: number | undefined;
}

/** Returns the contracts of machines. */
function contractsOf({ contracts }: Ledger, machines: readonly Working[]): readonly LedgerContract[] {
  const ids = new Set(machines.map(({ id }) => id));
  return contracts.filter(({ id }) => ids.has(String(id)));
}

/** Plays a world on a stage of its own: real processes, and machines that run their start texts in a shell. */
export class DeadmanWorld {
  readonly #parts: WorldParts;

  constructor(parts: WorldParts) {
    this.#parts = parts;
  }

  /** Kills the operator, and starts it again before three quarters of the lease are over: no machine may end. */
  async away(): Promise<WorldOutcome> {
    const { stage, view } = this.#parts;
    const before = await this.#rent(AWAY_MACHINES);
    await stage.killOperator();
    const killedAt = await this.#now();
    const [away, lease] = [AWAY_SHARE * LEASE_SECONDS, LEASE_SECONDS].map((seconds) =>
      this.#realSeconds(seconds),
    );
    view.say(`kill -9 of the operator. It is away for ${away} s; the lease is over after ${lease} s.`);
    await this.#pass(AWAY_SHARE * LEASE_SECONDS);
    await stage.startOperator();
    view.say('The operator is back.');
    await this.#until('every lease is renewed again', async () => {
      const now = await this.#working(AWAY_MACHINES);
      return now?.every(({ renewedAt }) => renewedAt === undefined || renewedAt > killedAt);
    });
    view.say('Every lease is renewed again.');
    await this.#pass(AFTER_SHARE * LEASE_SECONDS);
    const contracts = contractsOf(await this.#ledger(), before);
    const falseKills = contracts.filter(({ end }) => end !== null).length;
    view.say(
      `${contracts.length - falseKills} of ${contracts.length} machines work. Their objects are deleted.`,
    );
    for (const name of Object.keys(AWAY_MACHINES))
      await stage.client.delete(gpuInstanceResource, { namespace: DEMO_NAMESPACE, name });
    await this.#until('nothing bills', async () => (await this.#ledger()).billing === 0);
    return { endedByThemselves: 0, falseKills, maxBillAfterDeathSeconds: 0, billing: 0 };
  }

  /** Kills operator, API server and etcd, and deletes their data: every machine has to end by itself. */
  async erased(): Promise<WorldOutcome> {
    const { view } = this.#parts;
    const machines = await this.#rent(ERASED_MACHINES);
    await this.#eraseCluster();
    const diedAt = (await this.#ledger()).now;
    const ended = new Map<number, LedgerContract>();
    const look = async () => {
      const ledger = await this.#ledger();
      for (const contract of contractsOf(ledger, machines)) {
        if (contract.end === null || ended.has(contract.id)) continue;
        ended.set(contract.id, contract);
        const { name } = machines.find(({ id }) => id === String(contract.id)) ?? {};
        const seconds = Math.round(contract.end - diedAt);
        view.say(`${name}: machine ${contract.id} destroyed itself, ${seconds} s after the cluster.`);
      }
      return ledger.billing === 0;
    };
    const boundSeconds = LEASE_SECONDS + FUSE_GRACE_SECONDS;
    const isOver = await this.#isReached(look, 2_000 * this.#realSeconds(boundSeconds));
    const { billing } = await this.#ledger();
    if (!isOver) view.say(`${billing} machines still bill.`);
    const all = [...ended.values()];
    return {
      endedByThemselves: all.length,
      falseKills: all.filter((contract) => this.#isTooEarly(contract, machines)).length,
      maxBillAfterDeathSeconds: Math.round(Math.max(0, ...all.map(({ end }) => (end ?? 0) - diedAt))),
      billing,
    };
  }

  /** Creates the account and the objects. Resolves when all machines work, and leases are armed. */
  async #rent(machines: Machines): Promise<readonly Working[]> {
    const { stage, programs, view } = this.#parts;
    await applySample(stage.cluster, 'account.yaml', { pollInterval: '1s' });
    for (const [name, limits] of Object.entries(machines))
      await createMachine(stage, name, { limits, programs });
    let found: readonly Working[] = [];
    await this.#until('every machine works, and every lease is armed', async () => {
      found = (await this.#working(machines)) ?? [];
      return found.length > 0;
    });
    for (const { name, id } of found) {
      const { maxLifetime, lease } = machines[name] ?? {};
      const limits = [maxLifetime && `maxLifetime ${maxLifetime}`, lease && `lease ${lease} by SSH`];
      view.say(`${name}: machine ${id} works, with ${limits.filter(Boolean).join(', ')}.`);
    }
    return found;
  }

  /** Returns the machines of all objects; undefined while one does not work, or waits for a proof or its first renewal. */
  async #working(machines: Machines): Promise<readonly Working[] | undefined> {
    const { items } = await this.#parts.stage.client.list<GpuInstance>(gpuInstanceResource);
    const working = items.flatMap(({ metadata: { name }, status, spec }) => {
      const { instanceId: id, selfEnd, lease, actualStatus } = status ?? {};
      const renewedAt = parseTime(lease?.renewedAt);
      const isArmed = spec.lease === undefined || renewedAt !== undefined;
      // Without a renewal that shows the proof, the operator looks for it after a minute.
      const isProven = selfEnd?.proof === 'Proven' || (HAS_SSH && spec.lease === undefined);
      const isReady = actualStatus === 'running' && isProven && isArmed;
      return id !== undefined && isReady ? [{ name, id, renewedAt }] : [];
    });
    return working.length === Object.keys(machines).length ? working : undefined;
  }

  /** Kills operator, API server and etcd by SIGKILL, and deletes what they stored. */
  async #eraseCluster(): Promise<void> {
    const { stage, view } = this.#parts;
    const { keeper: _, ...servers } = stage.cluster.processIds();
    await stage.killOperator();
    for (const pid of Object.values(servers)) process.kill(pid, 'SIGKILL');
    const { folder } = stage.cluster;
    const data = readdirSync(folder).filter((name) => name !== 'logs' && !name.endsWith('.log'));
    for (const name of data) rmSync(join(folder, name), { recursive: true, force: true });
    view.say(
      `kill -9 of the operator and of ${Object.keys(servers).join(', ')}; rm -rf of their data (${data.join(', ')})`,
    );
  }

  #ledger(): Promise<Ledger> {
    return readLedger(this.#parts.stage.controlUrl);
  }

  /** Returns the time of the marketplace in milliseconds. */
  async #now(): Promise<number> {
    return (await this.#ledger()).now * 1_000;
  }

  /** Waits for that many seconds as machines count them. */
  async #pass(seconds: number): Promise<void> {
    await this.#isReached(() => Promise.resolve(false), 1_000 * this.#realSeconds(seconds));
  }

  #realSeconds(counted: number): number {
    return counted / this.#parts.speed;
  }

  async #until(what: string, holds: () => Promise<boolean | undefined>): Promise<void> {
    const { stage } = this.#parts;
    const isReached = await this.#isReached(async () => {
      const ended = stage.operatorEnd();
      if (ended !== undefined) throw new DemoFailure(ended);
      return holds();
    }, READY_TIMEOUT_MS);
    if (!isReached)
      throw new DemoFailure(`waited ${READY_TIMEOUT_MS / 1_000} s until ${what}; logs in ${stage.logFolder}`);
  }

  /** Looks until it holds. Resolves to false after that long. */
  async #isReached(holds: () => Promise<boolean | undefined>, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline) {
      this.#parts.signal.throwIfAborted();
      if (await holds()) return true;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    return false;
  }

  /** Returns true if a machine ended before the operator would have ended it, and before its lease was over. */
  #isTooEarly({ id, start, end }: LedgerContract, machines: readonly Working[]): boolean {
    const { name = '', renewedAt } = machines.find((machine) => machine.id === String(id)) ?? {};
    const lifeMs = parseDuration(ERASED_MACHINES[name]?.maxLifetime);
    const ends = [
      ...(lifeMs === undefined ? [] : [start + this.#realSeconds(lifeMs / 1_000 + FUSE_GRACE_SECONDS)]),
      ...(renewedAt === undefined ? [] : [renewedAt / 1_000 + this.#realSeconds(LEASE_SECONDS)]),
    ];
    return end !== null && end < Math.min(...ends);
  }
}
