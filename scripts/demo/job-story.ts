import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../src/api/v1alpha1/marketplace-account.ts';
import { gpuInstanceResource, marketplaceAccountResource } from '../../src/api/v1alpha1/names.ts';
import { totalCost } from '../../src/instance/cost.ts';
import { parseDollars } from '../../src/lib/money.ts';
import { untilInterrupted } from './ending.ts';
import type { PodRun, PodRunner } from './pod-runner.ts';
import { injectFault, type Ledger, readLedger } from './simulator-control.ts';
import { DEMO_NAMESPACE, type Stage } from './stage.ts';

/** Results of the demo, in its last line. */
export interface JobOutcome {
  readonly jobs: number;
  readonly asExpected: number;
  readonly machinesRented: number;
  readonly machinesBilling: number;
  readonly logLinesLost: number;
  readonly dollarsEqualLedger: boolean;
  readonly secondsFromExitToDestroyedP95: number | null;
}

const STEP_LIMIT_MS = 360_000;
const POLL_MS = 300;
const TOLERATED_MICRODOLLARS = 10_000;

interface JobPlan {
  readonly name: string;
  /** Seconds for which its program prints a line each second. */
  readonly lines: number;
  readonly exitCode: number;
  readonly args: readonly string[];
  /** Lines of this job that its Pods must print. */
  readonly isWhole: boolean;
  /** Exit code of the last Pod. */
  readonly expected: number;
}

const RENT = ['--image=ubuntu:24.04', '--max-price=2', '--backoff-limit=1'] as const;

const plan = (name: string, parts: Partial<JobPlan> = {}): JobPlan => ({
  ...{ name, lines: 20, exitCode: 0, args: RENT, isWhole: true, expected: 0 },
  ...parts,
});

/** The six Jobs. The one that fails does so on two machines, and an outbid machine is replaced: eight machines. */
export const PLANS: readonly JobPlan[] = [
  plan('outbid', { lines: 30 }),
  plan('evicted', { lines: 40 }),
  plan('operator-killed', { lines: 60 }),
  plan('deleted', { lines: 600, isWhole: false, expected: 143 }),
  plan('succeeds'),
  plan('fails', { exitCode: 3, expected: 3 }),
];

/** Returns the program: one line each second, and the time of its end as the last line. */
function programOf({ name, lines, exitCode }: JobPlan): readonly string[] {
  const loop = `i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "${name} step $i"; sleep 1; done`;
  return ['bash', '-c', `${loop}; echo "${name} ended $(date +%s.%N)"; exit ${exitCode}`];
}

/** Returns the Job of a plan. `file`: GpuInstance in place of options. */
function jobOf(job: JobPlan, file: string | undefined): object {
  const args = file === undefined ? [...job.args, '--', ...programOf(job)] : [`--filename=${file}`];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: job.name },
    spec: {
      backoffLimit: 0,
      podFailurePolicy: {
        rules: [
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] },
          { action: 'Ignore', onExitCodes: { operator: 'In', values: [75] } },
        ],
      },
      template: {
        spec: {
          serviceAccountName: 'gpu-rent-job',
          restartPolicy: 'Never',
          containers: [
            { name: 'gpu', image: 'gpu-rent', args: ['job', `--namespace=${DEMO_NAMESPACE}`, ...args] },
          ],
        },
      },
    },
  };
}

/** Returns the manifest of the run on a machine that is rented with a bid. */
export function bidManifest(): string {
  const job = PLANS.find(({ name }) => name === 'outbid');
  if (!job) throw new Error('no Job is outbid');
  return JSON.stringify({
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'GpuInstance',
    spec: {
      image: 'ubuntu:24.04',
      command: programOf(job),
      offers: [{ pricing: 'Interruptible', bid: '1.5', maxPricePerHour: '2' }],
      completion: {},
    },
  });
}

interface StoryOptions {
  readonly stage: Stage;
  readonly pods: PodRunner;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
  /** File with {@link bidManifest}. */
  readonly bidFile: string;
}

export class JobStory {
  readonly #options: StoryOptions;

  constructor(options: StoryOptions) {
    this.#options = options;
  }

  /** Creates all Jobs, disturbs four of them, and waits for their ends. */
  async play(): Promise<JobOutcome> {
    const { stage, say } = this.#options;
    for (const job of PLANS) {
      const manifest = jobOf(job, job.name === 'outbid' ? this.#options.bidFile : undefined);
      await this.#kubectl(['apply', '--server-side', '--filename', '-'], JSON.stringify(manifest));
      say(`kubectl apply: Job ${job.name}`);
    }
    const runs = (name: string) => this.#until(`${name} prints`, () => this.#prints(name));
    await runs('outbid');
    const { instanceId } = (await this.#instanceOf('outbid'))?.status ?? {};
    await injectFault(stage.controlUrl, { name: 'outbid', instance: Number(instanceId) });
    say(`The machine ${instanceId} of Job outbid is outbid.`);
    await runs('evicted');
    const [pod] = this.#runsOf('evicted');
    if (!pod) throw new Error('no Pod to evict');
    const path = `/api/v1/namespaces/${DEMO_NAMESPACE}/pods/${pod.name}/eviction`;
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod.name } };
    await stage.cluster.admin.request({ method: 'POST', path, body: eviction });
    say(`Pod ${pod.name} is evicted.`);
    await runs('deleted');
    await this.#kubectl(['delete', 'job', 'deleted', '--wait=false']);
    say('kubectl delete job deleted');
    await runs('operator-killed');
    await stage.killOperator();
    say('The operator is killed for 10 s.');
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    await stage.startOperator();
    await this.#until('every Job has ended', () => PLANS.every((job) => this.#end(job) !== undefined));
    const ledger = await this.#until('no machine bills', async () => {
      const now = await readLedger(stage.controlUrl);
      return now.billing === 0 ? now : undefined;
    });
    return this.#judge(ledger);
  }

  async #judge(ledger: Ledger): Promise<JobOutcome> {
    const asExpected = PLANS.filter((job) => this.#end(job) === job.expected);
    for (const job of PLANS) this.#options.say(`${job.name}: exit code ${this.#end(job)}`);
    const spent = await this.#dollars();
    return {
      jobs: PLANS.length,
      asExpected: asExpected.length,
      machinesRented: ledger.contracts.length,
      machinesBilling: ledger.billing,
      logLinesLost: PLANS.reduce((sum, job) => sum + this.#lostLines(job), 0),
      dollarsEqualLedger: Math.abs(spent - ledger.dollars * 1_000_000) <= TOLERATED_MICRODOLLARS,
      secondsFromExitToDestroyedP95: this.#latest(ledger),
    };
  }

  #runsOf(job: string): readonly PodRun[] {
    return this.#options.pods.runs.filter((run) => run.job === job);
  }

  #prints(job: string): boolean {
    return this.#runsOf(job).some(({ stdout }) => stdout.includes(`${job} step`));
  }

  /** Returns the exit code of the last Pod of a Job; undefined while another one follows. */
  #end({ name }: JobPlan): number | undefined {
    const code = this.#runsOf(name).at(-1)?.exitCode;
    return code === 75 ? undefined : code;
  }

  /** Returns the lines of the last attempt that no Pod printed, and those that one Pod printed twice on one machine. */
  #lostLines({ name, lines, isWhole, exitCode }: JobPlan): number {
    if (!isWhole) return 0;
    const last = this.#runsOf(name).at(-1)?.stdout.split('\n') ?? [];
    const attempts = exitCode === 0 ? 1 : 2;
    let lost = 0;
    for (let step = 1; step <= lines; step += 1) {
      const printed = last.filter((line) => line === `${name} step ${step}`).length;
      // An outbid machine printed some of the lines before.
      const most = name === 'outbid' ? 2 : attempts;
      if (printed < attempts) lost += attempts - printed;
      else if (printed > most) lost += printed - most;
    }
    return lost;
  }

  /** Returns the seconds from the end of a program to the end of its bill, 95th percentile of those that ended. */
  #latest({ contracts }: Ledger): number | null {
    const endOf = new Map(contracts.map(({ id, end }) => [String(id), end ?? Number.POSITIVE_INFINITY]));
    const taken = PLANS.flatMap(({ name }) => {
      const { stdout = '', stderr = '' } = this.#runsOf(name).at(-1) ?? {};
      const ends = [...stdout.matchAll(new RegExp(`^${name} ended ([0-9.]+)$`, 'gm'))];
      const machines = [...new Set(stderr.match(/(?<=machine )\d+(?=,)/g))];
      // Machines before these were lost, and no program ended there.
      const last = machines.slice(machines.length - ends.length);
      return ends.map(([, time], at) => (endOf.get(last[at] ?? '') ?? Number.NaN) - Number(time));
    }).toSorted((left, right) => left - right);
    const seconds = taken[Math.ceil(taken.length * 0.95) - 1];
    return seconds === undefined ? null : Math.round(seconds * 10) / 10;
  }

  async #instanceOf(job: string): Promise<GpuInstance | undefined> {
    const { items } = await this.#options.stage.client.list<GpuInstance>(gpuInstanceResource, {
      namespace: DEMO_NAMESPACE,
    });
    return items.find(({ metadata }) => metadata.ownerReferences?.some(({ name }) => name === job));
  }

  /** Returns the cost of all objects by the operator, in micro-dollars. */
  async #dollars(): Promise<number> {
    const { client } = this.#options.stage;
    const accounts = await client.list<MarketplaceAccount>(marketplaceAccountResource);
    const instances = await client.list<GpuInstance>(gpuInstanceResource);
    const now = Date.now();
    return [
      ...accounts.items.map(({ status }) => parseDollars(status?.deletedObjects?.spent ?? '0') ?? 0),
      ...instances.items.map(({ status }) => totalCost(status?.cost, now)),
    ].reduce((sum, one) => sum + one, 0);
  }

  #kubectl(args: readonly string[], stdin?: string): Promise<string> {
    const options = stdin === undefined ? {} : { stdin };
    return this.#options.stage.cluster.kubectl([...args, '--namespace', DEMO_NAMESPACE], options);
  }

  async #until<T>(what: string, read: () => T | Promise<T>): Promise<Exclude<T, undefined | false>> {
    const end = performance.now() + STEP_LIMIT_MS;
    for (;;) {
      const found = await Promise.race([read(), untilInterrupted(this.#options.signal)]);
      if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
      const why = this.#options.stage.operatorEnd();
      if (why !== undefined) throw new Error(why);
      if (performance.now() > end) throw new Error(`not within ${STEP_LIMIT_MS / 1000} s: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}
