import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../src/api/v1alpha1/marketplace-account.ts';
import { gpuInstanceResource, marketplaceAccountResource } from '../../src/api/v1alpha1/names.ts';
import { totalCost } from '../../src/instance/cost.ts';
import { formatDollars, parseDollars } from '../../src/lib/money.ts';
import type { View } from './live-view.ts';
import { injectFault, readLedger } from './simulator-control.ts';
import { applySample, DEMO_NAMESPACE, type Shortening, type Stage, samplePath } from './stage.ts';
import { EventReader, lookAtInstances, type Sighting } from './watcher.ts';

/** Results of the demo, in its last line. */
export interface Outcome {
  readonly result: string;
  readonly rented: number;
  readonly replaced: number;
  readonly destroyed: number;
  readonly billing: number;
  readonly operatorDollars: string;
  readonly ledgerDollars: string;
  readonly secondsToFirstRunning: number | null;
}

const INSTANCES = ['trainer', 'notebook'] as const;
const sampleOf = (name: string): string => `gpu-instance-${name}.yaml`;
const STEP_TIMEOUT_MS = 60_000;
const LOOK_EVERY_MS = 200;
const TOLERATED_CENTS = 1;

/** The demo's own failure: what was waited for and what was seen instead. */
export class DemoFailure extends Error {}

type Instances = ReadonlyMap<string, Sighting>;

export class Story {
  readonly #stage: Stage;
  readonly #view: View;
  readonly #signal: AbortSignal;
  readonly #events: EventReader;
  #last: Instances = new Map();
  #secondsToFirstRunning: number | null = null;
  #replaced = 0;

  constructor(stage: Stage, view: View, signal: AbortSignal) {
    this.#stage = stage;
    this.#view = view;
    this.#signal = signal;
    this.#events = new EventReader(stage.client, DEMO_NAMESPACE);
  }

  /** Applies an account and two machines, waits until both run, and shows how to reach one. */
  async rent(): Promise<void> {
    this.#view.heading('An account and two GpuInstances are applied');
    await this.#apply('account.yaml', { pollInterval: '1s' });
    const shorter = { replacement: { tolerance: { offline: '3s' } } };
    for (const name of INSTANCES) await this.#apply(sampleOf(name), shorter);
    const appliedAt = performance.now();
    await this.#until('one machine runs', (seen) => [...seen.values()].some((one) => one.isReady));
    this.#secondsToFirstRunning = Math.round((performance.now() - appliedAt) / 100) / 10;
    await this.#until('both machines run', (seen) => INSTANCES.every((name) => seen.get(name)?.isReady));
    await this.#showConnection('trainer');
  }

  /** Applies one unchanged sample and waits until its machine runs. */
  async rentOne(name: string): Promise<void> {
    await this.#apply(sampleOf(name));
    await this.#until(`${name} runs`, (seen) => seen.get(name)?.isReady === true);
  }

  /** Takes one host away and waits for the machine's successor on another. */
  async replace(): Promise<void> {
    const before = this.#last.get('trainer');
    if (before?.hostId === undefined) throw new DemoFailure('the trainer shows no host');
    this.#view.heading(`Host ${before.hostId}, which runs the trainer, goes offline for ever`);
    await injectFault(this.#stage.controlUrl, { name: 'host-death', host: Number(before.hostId) });
    const seen = await this.#until('the trainer runs on another host', (instances) => {
      const now = instances.get('trainer');
      return now?.isReady === true && now.instanceId !== before.instanceId && now.hostId !== before.hostId;
    });
    this.#replaced += 1;
    this.#view.say(`The trainer moved from host ${before.hostId} to host ${seen.get('trainer')?.hostId}.`);
  }

  /** Deletes both and waits until nothing is left, in the cluster and at the marketplace. */
  async tearDown(): Promise<void> {
    this.#view.heading('Both GpuInstances are deleted');
    const { client } = this.#stage;
    for (const name of INSTANCES) {
      await client.delete(gpuInstanceResource, { namespace: DEMO_NAMESPACE, name });
      this.#view.say(`kubectl delete gpui ${name}`);
    }
    await this.#until('both objects are gone', (seen) => seen.size === 0);
  }

  /** Compares the operator's books with the simulator's. */
  async settle(): Promise<Outcome> {
    const { outcome, apart } = await this.#books();
    const expected = INSTANCES.length + this.#replaced;
    return { result: judge(outcome, { expected, apart }), ...outcome };
  }

  /** Compares the books again after users have rented machines; those machines are no fault. */
  async settleAgain(settled: Outcome): Promise<Outcome> {
    const { outcome } = await this.#books();
    return { result: this.#stage.operatorEnd() ?? settled.result, ...outcome };
  }

  async #books(): Promise<{ readonly outcome: Omit<Outcome, 'result'>; readonly apart: number }> {
    const ledger = await readLedger(this.#stage.controlUrl);
    const operator = await this.#operatorDollars(Date.now());
    const ledgerMicros = Math.round(ledger.dollars * 1_000_000);
    const ended = ledger.contracts.filter((contract) => contract.end !== null).length;
    const outcome: Omit<Outcome, 'result'> = {
      rented: ledger.contracts.length,
      replaced: this.#replaced,
      destroyed: ended,
      billing: ledger.billing,
      operatorDollars: formatDollars(operator),
      ledgerDollars: formatDollars(ledgerMicros),
      secondsToFirstRunning: this.#secondsToFirstRunning,
    };
    return { outcome, apart: Math.abs(operator - ledgerMicros) };
  }

  async #apply(sample: string, shorter: Shortening = {}): Promise<void> {
    await applySample(this.#stage.cluster, sample, shorter);
    const edited = Object.keys(shorter).length > 0 ? `   (with ${JSON.stringify(shorter)})` : '';
    this.#view.say(`kubectl apply -f ${samplePath(sample)}${edited}`);
  }

  /** Returns the cost of objects until now, including deleted ones. */
  async #operatorDollars(now: number): Promise<number> {
    const { client } = this.#stage;
    const accounts = await client.list<MarketplaceAccount>(marketplaceAccountResource);
    const instances = await client.list<GpuInstance>(gpuInstanceResource);
    const sums = [
      ...accounts.items.map(({ status }) => parseDollars(status?.deletedObjects?.spent ?? '0') ?? 0),
      ...instances.items.map(({ status }) => totalCost(status?.cost, now)),
    ];
    return sums.reduce((sum, one) => sum + one, 0);
  }

  async #showConnection(name: string): Promise<void> {
    const ref = { namespace: DEMO_NAMESPACE, name };
    const object = await this.#stage.client.get<GpuInstance>(gpuInstanceResource, ref);
    const secretName = object?.status?.binding?.name;
    if (!secretName) throw new DemoFailure(`${name} runs, but its status names no connection Secret`);
    const keys = await this.#stage.cluster.kubectl([
      ...['get', 'secret', secretName, '--namespace', DEMO_NAMESPACE],
      '--output=go-template={{range $key, $value := .data}}{{$key}} {{end}}',
    ]);
    this.#view.say(`Connection Secret ${secretName}: ${keys.trim().split(' ').join(', ')}`);
  }

  /** Looks until `holds`; shows each change on the way. */
  async #until(wanted: string, holds: (seen: Instances) => boolean): Promise<Instances> {
    const deadline = performance.now() + STEP_TIMEOUT_MS;
    for (;;) {
      const ended = this.#stage.operatorEnd();
      if (ended !== undefined) throw new DemoFailure(ended);
      await this.look();
      if (holds(this.#last)) return this.#last;
      if (performance.now() > deadline) throw this.#timedOut(wanted);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      this.#signal.throwIfAborted();
    }
  }

  /** Looks until `over`; says it when the operator ends before that. */
  async stayUp(over: AbortSignal = this.#signal): Promise<void> {
    let isTold = false;
    while (!over.aborted) {
      const ended = this.#stage.operatorEnd();
      if (ended !== undefined && !isTold) {
        this.#view.failed(`${ended}\nNothing acts on the objects any more. Ctrl-C ends everything.`);
        isTold = true;
      }
      await this.look();
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** Polls the cluster and shows the changes since the last poll. */
  async look(): Promise<void> {
    const seen = await lookAtInstances(this.#stage.client, DEMO_NAMESPACE);
    for (const line of await this.#events.newLines()) this.#view.say(line);
    this.#view.show(this.#last, seen);
    this.#last = seen;
  }

  #timedOut(wanted: string): DemoFailure {
    const state = [...this.#last.values()]
      .map((one) => `${one.name} ${one.phase} (${one.message})`)
      .join('; ');
    return new DemoFailure(
      `waited ${STEP_TIMEOUT_MS / 1000} s until ${wanted}; seen: ${state || 'no object'}; logs in ${this.#stage.logFolder}`,
    );
  }
}

function judge(
  outcome: Omit<Outcome, 'result'>,
  check: { readonly expected: number; readonly apart: number },
): string {
  if (outcome.billing > 0) return `${outcome.billing} contracts still bill in the simulator`;
  if (outcome.rented !== check.expected) {
    return `${outcome.rented} contracts were created; expected: ${check.expected}`;
  }
  if (outcome.destroyed !== outcome.rented) return 'a contract was not ended';
  if (check.apart > TOLERATED_CENTS * 10_000) return 'the two sums differ by more than $0.01';
  return 'ok';
}
