import { endpointGroupResource } from '../../src/api/v1alpha1/names.ts';
import { clientSecretName } from '../../src/api/v1alpha1/worker-link.ts';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import { type Chat, isCut, isServed, sendChats, streamChat } from './chat-client.ts';
import { TOKEN_MS } from './chat-worker.ts';
import { GatewayWatch } from './gateway-watch.ts';
import type { View } from './live-view.ts';
import { type NginxBinary, startEmptyNginx } from './nginx.ts';
import { startPicker } from './picker-process.ts';
import type { RunningProcess } from './processes.ts';
import { readLedger } from './simulator-control.ts';
import { applySample, DEMO_NAMESPACE, type Shortening, type Stage, samplePath } from './stage.ts';
import { DemoFailure } from './story.ts';
import { waitAt, waitingChart } from './waiting-chart.ts';
import { EventReader, lookAtInstances, type Sighting } from './watcher.ts';

/** Results of the demo, in its last line. */
export interface GatewayOutcome {
  readonly result: string;
  /** Sent while no worker ran. */
  readonly requests: number;
  /** Requests answered with 200, to the end of the stream. */
  readonly ok: number;
  readonly failed: number;
  /** Number of wakes of the group. */
  readonly wakes: number;
  /** From the first worker that was ready to the first byte at a client. */
  readonly firstByteAfterReadyMs: number | null;
  /** Streams, long ones too, that ended without the mark of their end. */
  readonly cutStreams: number;
  /** Machines that bill when all is over. */
  readonly billing: number;
}

const GROUP = 'chat';
/** Factor by which the time spans of scaling are shorter. */
export const SPEED = 30;

/** Without `inactivityTimeout` the load alone decides, so that workers leave while long streams run. */
const SAMPLES: readonly { readonly name: string; readonly shorter: Shortening }[] = [
  { name: 'account.yaml', shorter: { pollInterval: '1s' } },
  {
    name: 'endpoint-group-gateway.yaml',
    shorter: { expectedPerf: '50', maxQueueTime: '2s', targetQueueTime: '2s', inactivityTimeout: null },
  },
];

const BURST_MS = 1_900;
/** Tokens of a stream of the burst. */
const TOKENS = 8;
const LONG_STREAMS = 6;
const LONG_TOKENS = 200;
const DECISION_TARGET_MS = 250;
const FIRST_BYTE_TARGET_MS = 1_000;
const STEP_TIMEOUT_MS = 60_000;
const LOOK_EVERY_MS = 250;

/** Environment of the story. */
export interface GatewayProps {
  readonly view: View;
  readonly signal: AbortSignal;
  readonly requests: number;
  readonly bootSeconds: number;
  readonly envoy: string;
  readonly nginx: Promise<NginxBinary>;
  /** When the operator made the first worker, in milliseconds since the epoch; undefined before. */
  readonly decidedAt: () => number | undefined;
  /** Ports for clients, and for reports to the operator. */
  readonly ports: { readonly gateway: number; readonly reports: number };
}

/**
 * The story of one EndpointGroup at zero, a gateway in front of it, and a burst of requests that all wait for its first
 * worker.
 */
export class GatewayStory {
  readonly #stage: Stage;
  readonly #props: GatewayProps;
  readonly #watch: GatewayWatch;
  readonly #events: EventReader;
  readonly #base: string;
  #picker: RunningProcess | undefined;
  #pickerEnd: string | undefined;
  #workers: ReadonlyMap<string, Sighting> = new Map();
  #burst: readonly Chat[] = [];
  #long: readonly Chat[] = [];

  constructor(stage: Stage, props: GatewayProps) {
    this.#stage = stage;
    this.#props = props;
    this.#watch = new GatewayWatch(stage.client, GROUP);
    this.#events = new EventReader(stage.client, DEMO_NAMESPACE, 'EndpointGroup');
    this.#base = `http://127.0.0.1:${props.ports.gateway}/${DEMO_NAMESPACE}/${GROUP}/v1`;
  }

  /** Applies the group and starts a gateway; there is no worker. */
  async begin(): Promise<void> {
    const { view, envoy, ports } = this.#props;
    view.heading('An account and an EndpointGroup with a gateway are applied; it has no worker');
    for (const { name, shorter } of SAMPLES) {
      await applySample(this.#stage.cluster, name, shorter);
      view.say(`kubectl apply -f ${samplePath(name)}   (with ${JSON.stringify(shorter)})`);
    }
    const identity = { namespace: DEMO_NAMESPACE, name: clientSecretName(GROUP) };
    const { client } = this.#stage;
    await this.#until('the gateway has a certificate', async () => {
      return (await client.get(secretResource, identity)) !== undefined;
    });
    const operatorUrl = `http://127.0.0.1:${ports.reports}`;
    const picker = await startPicker({ stage: this.#stage, envoy, port: ports.gateway, operatorUrl });
    this.#picker = picker;
    void picker.ended.then((why) => {
      this.#pickerEnd = why;
    });
    await this.#until('the gateway reports', () => (this.#watch.group?.status?.gateway?.pickers ?? 0) > 0);
    await this.#until('the gateway answers', async () => {
      const reply = await fetch(`http://127.0.0.1:${ports.gateway}/`);
      await reply.arrayBuffer();
      return reply.status === 404;
    });
    view.say(`gpu-rent endpoint-picker and Envoy serve ${this.#base}`);
  }

  /** Sends all requests within two seconds: they wait while a machine boots, and are served. */
  async burst(): Promise<void> {
    const { view, signal, requests, bootSeconds, decidedAt } = this.#props;
    view.heading(`${requests} streaming chat requests within 2 s; a machine boots for ${bootSeconds} s`);
    const firstSentAt = Date.now();
    const ask = () => streamChat(this.#base, TOKENS, signal);
    const answers = sendChats({ count: requests, overMs: BURST_MS }, ask);
    await this.#until('the operator decides', () => decidedAt() !== undefined);
    const decisionMs = (decidedAt() ?? 0) - firstSentAt;
    view.say(
      `The first worker is decided ${decisionMs} ms after the first request was sent (target ${DECISION_TARGET_MS}).`,
    );
    this.#burst = await this.#whilePlaying(answers, 'all are answered', bootSeconds * 1_000);
    this.#tellBurst();
  }

  #tellBurst(): void {
    const { view } = this.#props;
    const waits = this.#burst.flatMap(({ sentAt, firstByteAt }) =>
      firstByteAt === undefined ? [] : [firstByteAt - sentAt],
    );
    view.say(`Answers: ${talliesOf(this.#burst)}. From the request to the first byte:`);
    for (const line of waitingChart(waits)) view.command(line);
    const failure = this.#burst.find((chat) => !isServed(chat));
    if (failure) view.say(`One of those that were not served ended with: ${failure.last.trim()}`);
    view.say(`Half waited ${waitAt(0.5, waits)} s at most, 99 of 100 ${waitAt(0.99, waits)} s.`);
    view.say(
      `The first byte came ${this.#firstByteAfterReadyMs()} ms after the first worker was ready (target ${FIRST_BYTE_TARGET_MS}).`,
    );
  }

  /** Shows the behaviour of a proxy that only knows running workers. */
  async compare(): Promise<void> {
    const { view, signal, requests, nginx } = this.#props;
    const found = await nginx;
    if ('missing' in found) {
      view.say(`The comparison with nginx is skipped: ${found.missing}.`);
      return;
    }
    view.heading(`The same ${requests} requests to nginx, whose workers are not there`);
    const proxy = await startEmptyNginx(found.path, this.#stage.logFolder);
    try {
      const ask = () => streamChat(`${proxy.url}/v1`, TOKENS, signal);
      const answers = await sendChats({ count: requests, overMs: BURST_MS }, ask);
      view.say(`Answers: ${talliesOf(answers)}.`);
    } finally {
      await proxy.stop();
    }
  }

  /** Ends the load except for some long streams: workers are removed, and each stream runs to its end. */
  async scaleDown(): Promise<void> {
    const { view, signal } = this.#props;
    const seconds = (LONG_TOKENS * TOKEN_MS) / 1000;
    view.heading(`The load ends, but for ${LONG_STREAMS} streams of ${seconds} s`);
    const ask = () => streamChat(this.#base, LONG_TOKENS, signal);
    const chats = sendChats({ count: LONG_STREAMS, overMs: 1 }, ask);
    let left = LONG_STREAMS;
    const ended = chats.then(() => {
      left = 0;
    });
    await this.#until('workers leave', () => (this.#watch.group?.status?.draining ?? 0) > 0);
    view.say(
      left > 0
        ? `${left} streams run while workers leave.`
        : 'The streams ended before workers left: this machine is slow.',
    );
    this.#long = await this.#whilePlaying(chats, 'the streams end');
    await ended;
    view.say(`Of ${LONG_STREAMS} long streams ${this.#long.filter(isServed).length} came to their end.`);
    await this.#until('no worker is hot', () => this.#sleeps());
    view.say('No worker is hot.');
  }

  /** Deletes the group with all its workers. */
  async tearDown(): Promise<void> {
    const { view } = this.#props;
    view.heading('The group is deleted');
    await this.#stage.client.delete(endpointGroupResource, { namespace: DEMO_NAMESPACE, name: GROUP });
    view.say(`kubectl delete epg ${GROUP}`);
    await this.#until('the group is gone', () => this.#watch.group === undefined && this.#workers.size === 0);
    const { billing, dollars } = await readLedger(this.#stage.controlUrl);
    view.say(`Nothing is left; ${billing} machines bill, and $${dollars.toFixed(4)} were spent.`);
  }

  /** Ends the gateway. */
  async close(): Promise<void> {
    await this.#picker?.stop();
    await this.#watch.stop();
  }

  /** Returns the results so far; `result` evaluates them. */
  async outcome(): Promise<GatewayOutcome> {
    const { requests } = this.#props;
    const { billing } = await readLedger(this.#stage.controlUrl);
    const ok = this.#burst.filter(isServed).length;
    const facts = {
      requests,
      ok,
      failed: requests - ok,
      wakes: this.#watch.wakes,
      firstByteAfterReadyMs: this.#firstByteAfterReadyMs(),
      cutStreams: [...this.#burst, ...this.#long].filter(isCut).length,
      billing,
    };
    const served = this.#long.filter(isServed).length;
    return { result: judge(facts, LONG_STREAMS - served), ...facts };
  }

  #firstByteAfterReadyMs(): number | null {
    const { readyAt } = this.#watch;
    const bytes = this.#burst.flatMap(({ firstByteAt }) => firstByteAt ?? []);
    if (readyAt === undefined || bytes.length === 0) return null;
    return Math.round(Math.min(...bytes) - readyAt);
  }

  #sleeps(): boolean {
    const { replicas: hot = 0, starting = 0, draining = 0 } = this.#watch.group?.status ?? {};
    return hot === 0 && starting === 0 && draining === 0;
  }

  /** Shows what happens until that is there. */
  async #whilePlaying<T>(coming: Promise<T>, desired: string, atMostMs = 0): Promise<T> {
    let isThere = false;
    const noted = coming.then((value) => {
      isThere = true;
      return value;
    });
    await this.#until(desired, () => isThere, atMostMs);
    return noted;
  }

  async #until(desired: string, holds: () => boolean | Promise<boolean>, moreMs = 0): Promise<void> {
    const deadline = performance.now() + STEP_TIMEOUT_MS + moreMs;
    for (;;) {
      await this.#look();
      if (await holds()) return;
      if (performance.now() > deadline) throw this.#timedOut(desired);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      this.#props.signal.throwIfAborted();
    }
  }

  async #look(): Promise<void> {
    const { view } = this.#props;
    const ended = this.#stage.operatorEnd() ?? this.#pickerEnd;
    if (ended !== undefined) throw new DemoFailure(ended);
    for (const line of await this.#events.newLines()) view.say(line);
    const seen = await lookAtInstances(this.#stage.client, DEMO_NAMESPACE);
    view.show(this.#workers, seen);
    this.#workers = seen;
  }

  #timedOut(desired: string): DemoFailure {
    const { logFolder } = this.#stage;
    const status = JSON.stringify(this.#watch.group?.status ?? 'no group');
    return new DemoFailure(`no longer waited until ${desired}; seen: ${status}; logs in ${logFolder}`);
  }
}

/** `500 × 200`, by status; what was begun and cut is its own row. */
function talliesOf(chats: readonly Chat[]): string {
  const counts = new Map<string, number>();
  for (const chat of chats) {
    const name = isCut(chat) ? '200, cut' : chat.status === 0 ? 'no answer' : String(chat.status);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => `${count} × ${name}`).join(', ');
}

function judge(facts: Omit<GatewayOutcome, 'result'>, lostLong: number): string {
  const { billing, failed, cutStreams, wakes, firstByteAfterReadyMs } = facts;
  if (billing > 0) return `${billing} contracts still bill in the simulator`;
  if (failed > 0) return `${failed} requests were not served`;
  if (cutStreams > 0) return `${cutStreams} streams were cut`;
  if (lostLong > 0) return `${lostLong} long streams were not served`;
  if (wakes !== 1) return `the group was woken ${wakes} times`;
  if (firstByteAfterReadyMs === null || firstByteAfterReadyMs > FIRST_BYTE_TARGET_MS)
    return `the first byte came ${firstByteAfterReadyMs} ms after a worker was ready`;
  return 'ok';
}
