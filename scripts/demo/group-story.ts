import { annotations, endpointGroupResource } from '../../src/api/v1alpha1/names.ts';
import { ledger } from '../../src/simulator/world/ledger.ts';
import { type GroupSighting, lookAtGroup, publishedPorts } from './group-sighting.ts';
import { dollarsOf, type GroupMoment, type GroupView } from './group-view.ts';
import { applySample, DEMO_NAMESPACE, type Shortening, type Stage, samplePath } from './stage.ts';
import { DemoFailure } from './story.ts';
import { EventReader } from './watcher.ts';
import { REQUEST_SIZE, type WorkerMarket } from './worker-market.ts';

/** Results of the demo, in its last line. */
export interface GroupOutcome {
  readonly result: string;
  /** Most workers that were hot at one time, and most that there were, hot and cold. */
  readonly peakHot: number;
  readonly peakTotal: number;
  readonly zeroReached: boolean;
  /** From the request that found no hot worker until one served. */
  readonly wokeSeconds: number | null;
  /** Requests that were turned away. */
  readonly rejected: number;
  /** Total cost in dollars by the marketplace's own ledger. */
  readonly dollars: string;
  /** Machines that bill when all is over. */
  readonly billing: number;
}

const GROUP = 'translator';
/** Factor by which the time spans of scaling are shorter. */
export const SPEED = 30;
/** Maximum wait of a request in a worker. */
export const MAX_QUEUE_SECONDS = 3;

const SAMPLES: readonly { readonly name: string; readonly shorter: Shortening }[] = [
  { name: 'account.yaml', shorter: { pollInterval: '1s' } },
  {
    name: 'endpoint-group-worker-protocol.yaml',
    shorter: { maxQueueTime: `${MAX_QUEUE_SECONDS}s`, targetQueueTime: '1s', inactivityTimeout: '4s' },
  },
];

interface Act {
  readonly what: string;
  readonly seconds: number;
  /** Work per second at a share of the act between 0 and 1. */
  readonly load: (share: number) => number;
}

const RISE: Act = { what: 'The load rises', seconds: 10, load: (share) => 40 + 200 * share };
const BURST: Act = { what: 'A burst of more than twice as much', seconds: 6, load: () => 520 };
const REST: Act = { what: 'The load is as before', seconds: 3, load: () => 150 };

const STEP_TIMEOUT_MS = 60_000;
const LOOK_EVERY_MS = 100;

/** The story of one EndpointGroup under a load that rises, bursts and ends, with a gateway in front of its workers. */
export class GroupStory {
  readonly #stage: Stage;
  readonly #market: WorkerMarket;
  readonly #view: GroupView;
  readonly #signal: AbortSignal;
  readonly #events: EventReader;
  #seen: GroupSighting | undefined;
  #peakHot = 0;
  #peakTotal = 0;
  #zeroReached = false;
  #wokeSeconds: number | null = null;

  constructor(
    stage: Stage,
    market: WorkerMarket,
    options: { readonly view: GroupView; readonly signal: AbortSignal },
  ) {
    this.#stage = stage;
    this.#market = market;
    this.#view = options.view;
    this.#signal = options.signal;
    this.#events = new EventReader(stage.client, DEMO_NAMESPACE, 'EndpointGroup');
  }

  /** Applies the group; its one cold worker boots once and is stopped. */
  async begin(): Promise<void> {
    this.#view.heading('An account and an EndpointGroup are applied; its cold worker boots once');
    for (const { name, shorter } of SAMPLES) {
      await applySample(this.#stage.cluster, name, shorter);
      this.#view.say(`kubectl apply -f ${samplePath(name)}   (with ${JSON.stringify(shorter)})`);
    }
    await this.#until('the cold worker is stopped', () => this.#sleeps());
  }

  /** Raises the load, bursts and lowers it; the first request wakes the group. */
  async load(): Promise<void> {
    this.#view.heading('The first request comes: the gateway holds it and wakes the group');
    await this.#wake();
    for (const act of [RISE, BURST, REST]) await this.#play(act);
  }

  /** Stops the load: every worker drains and is stopped. */
  async end(): Promise<void> {
    this.#view.heading('The load ends: workers drain, are stopped, and none is hot');
    this.#market.fleet.offered = 0;
    await this.#until('no worker is hot and no machine runs', () => this.#sleeps());
    this.#zeroReached = true;
    this.#view.say('No worker is hot. What is kept cold costs its disk.');
  }

  /** Sends one more request, without a running worker. */
  async wakeAgain(): Promise<void> {
    this.#view.heading('A request comes and finds no hot worker');
    this.#wokeSeconds = await this.#wake();
    this.#view.say(`A cold worker served it after ${this.#wokeSeconds} s.`);
    await this.#play({ what: 'A small load goes on', seconds: 3, load: () => 40 });
    this.#market.fleet.offered = 0;
  }

  /** Deletes the group with all its workers. */
  async tearDown(): Promise<void> {
    this.#view.heading('The group is deleted');
    await this.#stage.client.delete(endpointGroupResource, { namespace: DEMO_NAMESPACE, name: GROUP });
    this.#view.say(`kubectl delete epg ${GROUP}`);
    await this.#until('the group is gone', () => this.#seen === undefined);
  }

  /** Returns the results so far; `result` evaluates them. */
  outcome(): GroupOutcome {
    const { fleet, simulator } = this.#market;
    const books = ledger(simulator.world());
    const facts = {
      peakHot: this.#peakHot,
      peakTotal: this.#peakTotal,
      zeroReached: this.#zeroReached,
      wokeSeconds: this.#wokeSeconds,
      rejected: this.#rejected(),
      dollars: dollarsOf(books.dollars),
      billing: books.billing,
    };
    return { result: judge(facts, fleet.lost), ...facts };
  }

  /** Asks for a worker, as a gateway does that holds a request; seconds until one serves. */
  async #wake(): Promise<number> {
    const askedAt = performance.now();
    const metadata = { annotations: { [annotations.wakeAt]: new Date().toISOString() } };
    const ref = { namespace: DEMO_NAMESPACE, name: GROUP };
    await this.#stage.client.patch(endpointGroupResource, ref, { type: 'merge', body: { metadata } });
    this.#view.say(`kubectl annotate epg ${GROUP} ${annotations.wakeAt}="$(date)" --overwrite`);
    await this.#until('a worker serves', () => this.#market.fleet.open > 0);
    return Math.round((performance.now() - askedAt) / 100) / 10;
  }

  async #play({ what, seconds, load }: Act): Promise<void> {
    this.#view.say(what);
    const begin = performance.now();
    for (;;) {
      const share = (performance.now() - begin) / (seconds * 1000);
      if (share >= 1) return;
      this.#market.fleet.offered = load(share);
      await this.#look();
      await briefly();
      this.#signal.throwIfAborted();
    }
  }

  /** Returns true if there is no hot worker and no running machine. */
  #sleeps(): boolean {
    const seen = this.#seen;
    if (!seen || seen.hot > 0 || seen.cold === 0) return false;
    return seen.starting === 0 && seen.draining === 0 && this.#market.fleet.running === 0;
  }

  async #until(wanted: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + STEP_TIMEOUT_MS;
    for (;;) {
      await this.#look();
      if (holds()) return;
      if (performance.now() > deadline) throw this.#timedOut(wanted);
      await briefly();
      this.#signal.throwIfAborted();
    }
  }

  /** Updates the gateway's workers, and shows the changes since the last poll. */
  async #look(): Promise<void> {
    const { client } = this.#stage;
    const ended = this.#stage.operatorEnd();
    if (ended !== undefined) throw new DemoFailure(ended);
    const { fleet } = this.#market;
    const [group, ports] = await Promise.all([lookAtGroup(client, GROUP), publishedPorts(client, GROUP)]);
    fleet.publish(ports);
    this.#seen = group;
    this.#peakHot = Math.max(this.#peakHot, group?.hot ?? 0);
    this.#peakTotal = Math.max(this.#peakTotal, group?.total ?? 0);
    for (const line of await this.#events.newLines()) this.#view.say(line);
    if (group) this.#view.show(this.#momentOf(group));
  }

  #momentOf(group: GroupSighting): GroupMoment {
    const { fleet, simulator } = this.#market;
    const { offered, queued } = fleet;
    return { group, offered, queued, rejected: this.#rejected(), dollars: ledger(simulator.world()).dollars };
  }

  #rejected(): number {
    return Math.round(this.#market.fleet.rejected / REQUEST_SIZE);
  }

  #timedOut(wanted: string): DemoFailure {
    const { logFolder } = this.#stage;
    const seen = this.#seen ? JSON.stringify(this.#seen) : 'no group';
    return new DemoFailure(
      `waited ${STEP_TIMEOUT_MS / 1000} s until ${wanted}; seen: ${seen}; logs in ${logFolder}`,
    );
  }
}

const briefly = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));

/** Minimum workers at the peak: 240 a second at 90 % of 100 each. */
const LEAST_PEAK = 3;

function judge(facts: Omit<GroupOutcome, 'result'>, lost: number): string {
  if (facts.billing > 0) return `${facts.billing} contracts still bill in the simulator`;
  if (facts.peakHot < LEAST_PEAK)
    return `only ${facts.peakHot} workers were hot where the load needs ${LEAST_PEAK}`;
  if (!facts.zeroReached) return 'the group did not scale to zero';
  if (facts.wokeSeconds === null) return 'the group did not wake';
  if (lost > 0) return `${Math.ceil(lost / REQUEST_SIZE)} requests were lost in workers that were stopped`;
  return 'ok';
}
