import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobStage } from '../../scripts/demo/job-stage.ts';
import type { PodRun } from '../../scripts/demo/pod-runner.ts';
import { injectFault, readLedger } from '../../scripts/demo/simulator-control.ts';
import { DEMO_NAMESPACE } from '../../scripts/demo/stage.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { adapted, MANIFEST_LABEL } from './adapt.ts';
import { endOf } from './ends.ts';
import type { ForeignManifest } from './manifests.ts';
import { type ForeignObject, readManifest } from './read-manifest.ts';

/** Results of the test, in its last line. */
export interface ForeignJobsOutcome {
  readonly manifests: number;
  readonly asExpected: number;
  readonly refusedByField: number;
  readonly hung: number;
  readonly machinesLeft: number;
  readonly outbid: number;
  readonly logLinesLost: number;
}

const POLL_MS = 500;
/** Manifests whose objects run at a time. */
const MAX_ACTIVE = 12;
const LIMIT_MS = 10 * 60_000;
/** Lines of a program, and of one whose machine is outbid: the log is read every five seconds. */
const LINES = 12;
const OUTBID_LINES = 40;

/** A manifest on its way. */
interface Case {
  readonly manifest: ForeignManifest;
  readonly name: string;
  /** Exit code of the program. */
  readonly exitCode: number;
  /** True: its first machine is outbid while the program runs. */
  readonly isOutbid: boolean;
  readonly object: ForeignObject;
  startedAt: number;
  wasOutbid: boolean;
  /** Judgement; undefined while it runs. */
  end?: 'asExpected' | 'refused' | 'hung' | { readonly otherwise: string } | undefined;
}

/** Kinds whose object ends with the first failure, so that a code other than 0 is reported once. */
const FAILING_KINDS: ReadonlySet<string> = new Set(['Pod', 'TaskRun']);

export interface StoryOptions extends JobStage {
  readonly manifests: readonly ForeignManifest[];
  /** True: one machine in three is outbid. */
  readonly withOutbids: boolean;
  readonly report: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Applies foreign manifests with the relay as their program, and judges how they end. */
export class ForeignJobsStory {
  readonly #options: StoryOptions;
  #cases: readonly Case[] = [];

  constructor(options: StoryOptions) {
    this.#options = options;
  }

  async play(): Promise<ForeignJobsOutcome> {
    const { manifests, withOutbids, stage, signal } = this.#options;
    this.#cases = await Promise.all(
      manifests.map(async (manifest, index): Promise<Case> => {
        const object = await readManifest(manifest);
        const isFailing = FAILING_KINDS.has(object.kind) && !manifest.refusedBy && index % 4 === 3;
        return {
          ...{ manifest, object, name: `foreign-${index + 1}`, exitCode: isFailing ? (index % 60) + 1 : 0 },
          isOutbid: withOutbids && !manifest.refusedBy && index % 3 === 0,
          ...{ startedAt: 0, wasOutbid: false },
        };
      }),
    );
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
    const active = this.#cases.filter(({ startedAt, end }) => startedAt > 0 && end === undefined);
    const next = this.#cases.find(({ startedAt }) => startedAt === 0);
    if (next && active.length < MAX_ACTIVE) await this.#apply(next);
    for (const one of active) {
      await this.#outbid(one);
      one.end = await this.#judge(one);
      if (one.end === undefined) continue;
      const { name, manifest, object, end } = one;
      const text = typeof end === 'string' ? end : `otherwise: ${end.otherwise}`;
      this.#options.report(`${name} ${object.kind} ${manifest.file}: ${text}`);
      // A Pod that restarts its program would go on.
      if (end !== 'asExpected') await this.#remove(one);
    }
  }

  async #apply(one: Case): Promise<void> {
    const { folder } = this.#options;
    const file = join(folder, `${one.name}.json`);
    writeFileSync(file, JSON.stringify(instanceOf(one)));
    const relay = {
      ...{ name: one.name, serviceAccount: 'gpu-rent-job', isPod: one.manifest.isPod },
      args: ['job', `--namespace=${DEMO_NAMESPACE}`, `--filename=${file}`],
    };
    one.startedAt = performance.now();
    const object = adapted(one.object, relay);
    await this.#kubectl(['create', '--filename', '-'], JSON.stringify(object)).catch((error: Error) => {
      one.end = { otherwise: `not accepted: ${error.message}` };
      this.#options.report(`${one.name} ${one.manifest.file}: ${error.message}`);
    });
  }

  #runsOf({ name }: Case): readonly PodRun[] {
    return this.#options.pods.runs.filter(({ labels }) => labels[MANIFEST_LABEL] === name);
  }

  /** Outbids the machine of the first Pod once its program prints. */
  async #outbid(one: Case): Promise<void> {
    if (!one.isOutbid || one.wasOutbid) return;
    const run = this.#runsOf(one).find(
      ({ stdout, exitCode }) => stdout.includes(' step ') && exitCode === undefined,
    );
    const name = run && /gpui\/(job-[0-9a-f]+)/.exec(run.stderr)?.[1];
    if (name === undefined) return;
    const { client, controlUrl } = this.#options.stage;
    const object = await client.get<GpuInstance>(gpuInstanceResource, { namespace: DEMO_NAMESPACE, name });
    const id = object?.status?.instanceId;
    if (id === undefined) return;
    // A program that has just ended is not outbid any more.
    one.wasOutbid = await injectFault(controlUrl, { name: 'outbid', instance: Number(id) }).then(
      () => true,
      () => false,
    );
  }

  async #judge(one: Case): Promise<Case['end']> {
    const runs = this.#runsOf(one);
    if (performance.now() - one.startedAt > LIMIT_MS) return 'hung';
    const { refusedBy } = one.manifest;
    if (refusedBy !== undefined) {
      const refused = runs.find(({ exitCode }) => exitCode !== undefined);
      if (refused === undefined) return undefined;
      const isNamed = refused.exitCode === 126 && refused.stderr.includes(refusedBy);
      return isNamed ? 'refused' : { otherwise: `exit code ${refused.exitCode}: ${refused.stderr}` };
    }
    const end = await this.#ended(one);
    if (end === undefined || runs.some(({ exitCode }) => exitCode === undefined)) return undefined;
    if (runs.length === 0) return { otherwise: `${end} without a Pod` };
    const other = runs.find(({ exitCode }) => exitCode !== one.exitCode);
    if (other) return { otherwise: `exit code ${other.exitCode}, not ${one.exitCode}: ${other.stderr}` };
    const expected = one.exitCode === 0 ? 'succeeded' : 'failed';
    return end === expected ? 'asExpected' : { otherwise: `${end}, not ${expected}` };
  }

  /** Reads the end that the controller of the object reports. */
  async #ended({ name, object, manifest }: Case): Promise<'succeeded' | 'failed' | undefined> {
    const kind = object.kind === 'Pod' && !manifest.isPod ? 'job' : object.kind.toLowerCase();
    const text = await this.#kubectl(['get', kind, name, '--output', 'json']);
    return endOf(JSON.parse(text));
  }

  async #remove({ name, object, manifest }: Case): Promise<void> {
    const kind = object.kind === 'Pod' && !manifest.isPod ? 'job' : object.kind.toLowerCase();
    const args = ['delete', kind, name, '--wait=false', '--ignore-not-found'];
    await this.#kubectl(args).catch((error: Error) => this.#options.report(error.message));
  }

  async #outcome(): Promise<ForeignJobsOutcome> {
    const count = (end: Case['end']) => this.#cases.filter((one) => one.end === end).length;
    return {
      manifests: this.#cases.length,
      asExpected: count('asExpected'),
      refusedByField: count('refused'),
      hung: count('hung'),
      machinesLeft: await this.#machinesLeft(),
      outbid: this.#cases.filter(({ wasOutbid }) => wasOutbid).length,
      logLinesLost: this.#cases.reduce((sum, one) => sum + this.#lostLines(one), 0),
    };
  }

  /** Returns the machines that bill; those of runs that just ended have half a minute. */
  async #machinesLeft(): Promise<number> {
    const end = performance.now() + 30_000;
    for (;;) {
      const { billing } = await readLedger(this.#options.stage.controlUrl);
      if (billing === 0 || performance.now() > end) return billing;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Returns the lines that a Pod did not print, and those that it printed twice without a second machine. */
  #lostLines(one: Case): number {
    if (one.end !== 'asExpected') return 0;
    const most = one.wasOutbid ? 2 : 1;
    let lost = 0;
    for (const { stdout } of this.#runsOf(one)) {
      const lines = stdout.split('\n');
      for (let step = 1; step <= linesOf(one); step += 1) {
        const printed = lines.filter((line) => line === `${one.name} step ${step}`).length;
        lost += printed < 1 ? 1 : Math.max(0, printed - most);
      }
    }
    return lost;
  }

  #kubectl(args: readonly string[], stdin?: string): Promise<string> {
    const options = stdin === undefined ? {} : { stdin };
    return this.#options.stage.cluster.kubectl([...args, '--namespace', DEMO_NAMESPACE], options);
  }
}

const linesOf = ({ isOutbid }: Case): number => (isOutbid ? OUTBID_LINES : LINES);

/** Returns the GpuInstance of a relay: its program prints a line each half second or second. */
function instanceOf(one: Case): object {
  const { name, exitCode, isOutbid } = one;
  const pause = isOutbid ? '1' : '0.5';
  const loop = `i=0; while [ $i -lt ${linesOf(one)} ]; do i=$((i+1)); echo "${name} step $i"; sleep ${pause}; done`;
  const offer = isOutbid ? { pricing: 'Interruptible', bid: '1.5' } : {};
  return {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'GpuInstance',
    spec: {
      ...{ image: 'ubuntu:24.04', command: ['bash', '-c', `${loop}; exit ${exitCode}`] },
      offers: [{ ...offer, maxPricePerHour: '2' }],
      completion: { backoffLimit: 0 },
    },
  };
}
