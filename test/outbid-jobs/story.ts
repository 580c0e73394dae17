import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobStage } from '../../scripts/demo/job-stage.ts';
import type { PodRun } from '../../scripts/demo/pod-runner.ts';
import { injectFault, readLedger } from '../../scripts/demo/simulator-control.ts';
import { DEMO_NAMESPACE } from '../../scripts/demo/stage.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';

/** Results of the test, in its last line. */
export interface OutbidOutcome {
  readonly jobs: number;
  readonly complete: number;
  readonly outbid: number;
  /** Steps that a run repeated, at most. */
  readonly maxRepeatedSteps: number;
  /** Steps between two checkpoints. */
  readonly checkpointSteps: number;
  /** Runs of which two machines billed at the same time. */
  readonly doubleRentals: number;
  readonly machinesRented: number;
  readonly machinesLeft: number;
  readonly logLinesLost: number;
}

const POLL_MS = 1_000;
const LIMIT_MS = 12 * 60_000;
/** Steps of a program, of one second each; a step stands for 20 s of work. */
const STEPS = 30;
export const CHECKPOINT_STEPS = 3;
/** Step after which a machine is outbid. */
const OUTBID_STEP = 5;

/** A Job on its way. */
interface Case {
  readonly name: string;
  startedAt: number;
  outbid: boolean;
  /** Machines of its run, in the order of their rental. */
  readonly machines: number[];
  end: 'complete' | 'other' | undefined;
}

export interface StoryOptions extends JobStage {
  readonly jobs: number;
  readonly maxActive: number;
  /** URL that stores checkpoints by name. */
  readonly store: string;
  readonly report: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Runs Jobs of which each is outbid once in the middle, and judges what that cost. */
export class OutbidStory {
  readonly #options: StoryOptions;
  readonly #cases: readonly Case[];

  constructor(options: StoryOptions) {
    this.#options = options;
    this.#cases = Array.from({ length: options.jobs }, (_, index) => ({
      ...{ name: `outbid-${index + 1}`, startedAt: 0, outbid: false, machines: [], end: undefined },
    }));
  }

  async play(): Promise<OutbidOutcome> {
    const { stage, signal } = this.#options;
    while (this.#cases.some(({ end }) => end === undefined)) {
      signal.throwIfAborted();
      const why = stage.operatorEnd();
      if (why !== undefined) throw new Error(why);
      await this.#advance();
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return this.#outcome();
  }

  async #advance(): Promise<void> {
    const { maxActive, report, stage } = this.#options;
    const active = this.#cases.filter(({ startedAt, end }) => startedAt > 0 && end === undefined);
    const next = this.#cases.find(({ startedAt }) => startedAt === 0);
    if (next && active.length < maxActive) await this.#apply(next);
    const { items } = await stage.client.list<GpuInstance>(gpuInstanceResource, {
      namespace: DEMO_NAMESPACE,
    });
    for (const one of active) {
      const object = items.find(({ metadata }) => metadata.ownerReferences?.[0]?.name === one.name);
      const machine = Number(object?.status?.instanceId);
      if (machine > 0 && !one.machines.includes(machine)) one.machines.push(machine);
      const run = this.#runOf(one);
      if (machine > 0 && !one.outbid && run && stepsOf(one, run) >= OUTBID_STEP) {
        await injectFault(stage.controlUrl, { name: 'outbid', instance: machine });
        one.outbid = true;
      }
      if (run?.exitCode === 0) one.end = 'complete';
      else if (run?.exitCode !== undefined || performance.now() - one.startedAt > LIMIT_MS) one.end = 'other';
      if (one.end === undefined) continue;
      const ended = this.#cases.filter(({ end }) => end !== undefined).length;
      report(`${one.name}: ${one.end}, ${one.machines.length} machines (${ended} of ${this.#cases.length})`);
    }
  }

  async #apply(one: Case): Promise<void> {
    const { folder, store, stage } = this.#options;
    const file = join(folder, `${one.name}.json`);
    writeFileSync(file, JSON.stringify(instanceOf(one.name, `${store}/${one.name}`)));
    one.startedAt = performance.now();
    await stage.cluster.kubectl(['create', '--namespace', DEMO_NAMESPACE, '--filename', '-'], {
      stdin: JSON.stringify(jobOf(one.name, file)),
    });
  }

  #runOf({ name }: Case): PodRun | undefined {
    return this.#options.pods.runs.find(({ job }) => job === name);
  }

  async #outcome(): Promise<OutbidOutcome> {
    const ledger = await this.#settled();
    const repeated = this.#cases.map((one) => {
      const run = this.#runOf(one);
      return run === undefined ? 0 : stepsOf(one, run) - distinctSteps(one, run);
    });
    const isDouble = ({ machines }: Case): boolean => {
      const contracts = ledger.contracts
        .filter(({ id }) => machines.includes(id))
        .sort((left, right) => left.start - right.start);
      return contracts.some(({ start }, index) => {
        const before = contracts[index - 1];
        return before !== undefined && (before.end === null || before.end > start);
      });
    };
    return {
      jobs: this.#cases.length,
      complete: this.#cases.filter(({ end }) => end === 'complete').length,
      outbid: this.#cases.filter(({ outbid }) => outbid).length,
      maxRepeatedSteps: Math.max(...repeated),
      checkpointSteps: CHECKPOINT_STEPS,
      doubleRentals: this.#cases.filter(isDouble).length,
      machinesRented: ledger.contracts.length,
      machinesLeft: ledger.billing,
      logLinesLost: this.#cases.reduce((sum, one) => {
        const run = this.#runOf(one);
        return sum + STEPS - (run === undefined ? 0 : distinctSteps(one, run));
      }, 0),
    };
  }

  /** Returns the ledger when no machine bills, or half a minute after the last run. */
  async #settled(): ReturnType<typeof readLedger> {
    const end = performance.now() + 30_000;
    for (;;) {
      const ledger = await readLedger(this.#options.stage.controlUrl);
      if (ledger.billing === 0 || performance.now() > end) return ledger;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

const stepLines = ({ name }: Case, { stdout }: PodRun): readonly string[] =>
  stdout.split('\n').filter((line) => line.startsWith(`${name} step `));

/** Returns the steps that all machines of a run did. */
const stepsOf = (one: Case, run: PodRun): number => stepLines(one, run).length;

const distinctSteps = (one: Case, run: PodRun): number => new Set(stepLines(one, run)).size;

/** Returns a program that begins at its last checkpoint, and stores another one after every third step. */
function instanceOf(name: string, checkpoint: string): object {
  const begin = `i=$(curl -fs ${checkpoint} || echo 0)`;
  const step = `i=$((i+1)); echo "${name} step $i"; sleep 1`;
  const store = `[ $((i%${CHECKPOINT_STEPS})) -gt 0 ] || curl -fsX PUT -d $i ${checkpoint}`;
  return {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'GpuInstance',
    spec: {
      image: 'ubuntu:24.04',
      command: ['bash', '-c', `${begin}; while [ $i -lt ${STEPS} ]; do ${step}; ${store}; done`],
      offers: [{ pricing: 'Interruptible', bid: '1.5', maxPricePerHour: '2' }],
      completion: { backoffLimit: 0 },
    },
  };
}

function jobOf(name: string, file: string): object {
  const args = ['job', `--namespace=${DEMO_NAMESPACE}`, `--filename=${file}`];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      backoffLimit: 0,
      template: {
        spec: {
          serviceAccountName: 'gpu-rent-job',
          restartPolicy: 'Never',
          containers: [{ name: 'gpu', image: 'registry.example/gpu-rent:1', args }],
        },
      },
    },
  };
}
