import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { AGENT_LABEL, gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import type { OfferSketch } from '../../src/simulator/supply/catalog.ts';
import { type LedgerRow, ledger } from '../../src/simulator/world/ledger.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { agentKubeconfig } from '../../test/agent/agent-role.ts';
import { type HostileResult, runHostile } from '../../test/agent/hostile-run.ts';
import { untilInterrupted } from './ending.ts';
import { DEMO_NAMESPACE, type Stage } from './stage.ts';

/** Dollars of the SpendBudget. */
export const BUDGET = 10;
const OTHER_NAMESPACE = 'others';
const AGENT = 'hostile';
const FOREIGN_GPU = 'RTX 3060';
const FOREIGN = ['theirs-1', 'theirs-2'] as const;
const MAX_MACHINES = 8;
/** Far above the budget: the SpendBudget decides. */
const MAX_TOTAL = 100;
/** The operator rents only while one hour of all machines fits into the budget. */
const HOSTILE_OFFERS = 40;
const CHEAPEST = 1.5;
const STEP = 0.1;
const WAIT_MS = 180_000;
const POLL_MS = 500;
/** Seconds that the marketplace and the operator count in one. */
export const SPEED = 30;

/** Returns the offers: two cheap ones for machines of others, and forty of $1.50/h and more. */
export function offersOf(): readonly OfferSketch[] {
  const others = FOREIGN.map((_, at) => ({ id: 6_000 + at, gpuName: FOREIGN_GPU, pricePerHour: 0.02 }));
  const own = Array.from({ length: HOSTILE_OFFERS }, (_, at) => ({
    ...{ id: 7_000 + at, gpuName: 'RTX 4090', pricePerHour: CHEAPEST + at * STEP },
  }));
  return [...others, ...own];
}

/** Results of the demo, in its last line. */
export interface AgentOutcome {
  readonly calls: number;
  readonly dollars: string;
  readonly budget: string;
  readonly foreignEnded: number;
  readonly unreadableRefusals: number;
}

interface StoryOptions {
  readonly stage: Stage;
  readonly world: () => World;
  readonly calls: number;
  readonly seed: number;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A hostile caller of `gpu-rent mcp` in a namespace with machines of others and a SpendBudget. */
export class AgentStory {
  /** Answers of the servers; undefined before the calls have ended. */
  result: HostileResult | undefined;
  readonly #options: StoryOptions;
  readonly #foreign: { readonly namespace: string; readonly name: string; readonly generation: number }[] =
    [];
  #foreignMachines: readonly number[] = [];

  constructor(options: StoryOptions) {
    this.#options = options;
  }

  /** Creates the budget and the objects of others, sends all calls, and waits until no machine of the caller bills. */
  async play(): Promise<AgentOutcome> {
    const { say, calls, seed, stage, signal } = this.#options;
    await this.#createOthers();
    const kubeconfig = await agentKubeconfig(stage.cluster, DEMO_NAMESPACE);
    const server = [
      ...['--kubeconfig', kubeconfig, '-n', DEMO_NAMESPACE, '--agent', AGENT],
      ...['--max-total', String(MAX_TOTAL), '--max-machines', String(MAX_MACHINES)],
    ];
    const { url, apiKey } = stage.marketplace;
    this.result = await runHostile({
      ...{ calls, seed, signal, servers: [server, server] },
      ...{ followEvery: 1, killEvery: KILL_EVERY },
      env: { GPU_RENT_URL: url, GPU_RENT_API_KEY: apiKey },
      names: { foreign: FOREIGN, otherNamespace: OTHER_NAMESPACE },
      onProgress: this.#progress(),
    });
    signal.throwIfAborted();
    this.#tellReasons(this.result);
    say('The calls have ended. Machines that run end by their own ceilings.');
    await this.#until('no machine of the caller bills', async () => this.#billing() === 0);
    return this.outcome();
  }

  /** Returns what was counted so far. */
  async outcome(): Promise<AgentOutcome> {
    const { calls = 0, unreadable = [] } = this.result ?? {};
    for (const line of unreadable.slice(0, MAX_SHOWN)) this.#options.say(line);
    return {
      calls,
      dollars: this.dollars().toFixed(2),
      budget: String(BUDGET),
      foreignEnded: await this.#foreignEnded(),
      unreadableRefusals: unreadable.length,
    };
  }

  /** Returns the dollars of all machines ever, by the ledger of the marketplace. */
  dollars(): number {
    return ledger(this.#options.world()).dollars;
  }

  async #createOthers(): Promise<void> {
    const { stage, say } = this.#options;
    await this.#create({
      kind: 'SpendBudget',
      metadata: { namespace: DEMO_NAMESPACE, name: 'team' },
      spec: { perMonth: String(BUDGET) },
    });
    await stage.cluster.kubectl(['create', 'namespace', OTHER_NAMESPACE]);
    const spec = {
      image: 'example/image:1',
      onStart: 'sleep 9',
      offers: [{ gpuNames: [FOREIGN_GPU], maxPricePerHour: '0.05' }],
    };
    const places = [
      ...FOREIGN.map((name) => ({ namespace: DEMO_NAMESPACE, name })),
      { namespace: OTHER_NAMESPACE, name: 'theirs' },
    ];
    for (const place of places) {
      const paused = place.namespace === OTHER_NAMESPACE;
      // A label of the caller's server, which belongs to another namespace.
      const labels = paused ? { [AGENT_LABEL]: AGENT } : {};
      await this.#create({ kind: 'GpuInstance', metadata: { ...place, labels }, spec: { ...spec, paused } });
    }
    await this.#until('the machines of others run', async () => {
      const objects = await Promise.all(FOREIGN.map((name) => this.#instance(DEMO_NAMESPACE, name)));
      return objects.every((object) => object?.status?.phase === 'Running');
    });
    for (const { namespace, name } of places) {
      const { metadata } = (await this.#instance(namespace, name)) ?? {};
      this.#foreign.push({ namespace, name, generation: metadata?.generation ?? 0 });
    }
    this.#foreignMachines = ledger(this.#options.world()).contracts.map(({ id }) => id);
    say(`SpendBudget team: $${BUDGET} a month. Machines of others: ${FOREIGN.join(', ')}.`);
  }

  async #create(parts: {
    readonly kind: 'SpendBudget' | 'GpuInstance';
    readonly metadata: object;
    readonly spec: object;
  }): Promise<void> {
    const manifest = JSON.stringify({ apiVersion: 'gpurental.dev/v1alpha1', ...parts });
    await this.#options.stage.cluster.kubectl(['create', '-f', '-'], { stdin: manifest });
  }

  #instance(namespace: string, name: string): Promise<GpuInstance | undefined> {
    return this.#options.stage.client.get<GpuInstance & KubeObject>(gpuInstanceResource, { namespace, name });
  }

  #ofCaller(): readonly LedgerRow[] {
    return ledger(this.#options.world()).contracts.filter(({ id }) => !this.#foreignMachines.includes(id));
  }

  #billing(): number {
    return this.#ofCaller().filter(({ end }) => end === null).length;
  }

  /** Returns the number of objects of others that were deleted, changed, or lost their machine. */
  async #foreignEnded(): Promise<number> {
    const { contracts } = ledger(this.#options.world());
    const ended = contracts.filter(({ id, end }) => this.#foreignMachines.includes(id) && end !== null);
    let changed = 0;
    for (const { namespace, name, generation } of this.#foreign) {
      const object = await this.#instance(namespace, name);
      if (object?.metadata.generation !== generation) changed += 1;
    }
    return Math.max(ended.length, changed);
  }

  #progress(): (done: number) => void {
    const { say, calls } = this.#options;
    let next = 0;
    return (done) => {
      if (done < next) return;
      next += Math.ceil(calls / 10);
      say(
        `${done} of ${calls} calls; $${this.dollars().toFixed(2)} of $${BUDGET}, ${this.#billing()} billing`,
      );
    };
  }

  #tellReasons({ reasons, killed, followed }: HostileResult): void {
    const { say } = this.#options;
    say(`Servers killed: ${killed}. Next actions of refusals followed: ${followed}. Answers by reason:`);
    for (const [reason, count] of Object.entries(reasons).toSorted(([, one], [, other]) => other - one))
      say(`  ${reason} ${count}`);
  }

  async #until(what: string, isDone: () => Promise<boolean>): Promise<void> {
    const { stage, signal } = this.#options;
    const late = Date.now() + WAIT_MS;
    while (!(await isDone())) {
      const end = stage.operatorEnd();
      if (end !== undefined) throw new Error(end);
      if (Date.now() > late) throw new Error(`not within ${WAIT_MS / 1_000} s: ${what}`);
      await Promise.race([new Promise((resolve) => setTimeout(resolve, POLL_MS)), untilInterrupted(signal)]);
    }
  }
}

const KILL_EVERY = 600;
const MAX_SHOWN = 10;
