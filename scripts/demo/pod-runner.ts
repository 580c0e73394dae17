import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { podResource } from '../../src/cli/job/run-owner.ts';
import type { KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import type { AdminClient } from '../../test/cluster/admin-client.ts';
import { CLI } from './processes.ts';

const END_WITH_PARENT = join(import.meta.dirname, 'end-with-parent.ts');
const POLL_MS = 200;
const NODE = 'demo';

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

interface Pod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly restartPolicy?: string;
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
}

/** The program of the relay's image, as engines name it that put their own program in front. */
export const RELAY_PROGRAM = 'gpu-rent';

/** The container that runs the relay, and its arguments. */
interface RelayContainer {
  readonly name: string;
  readonly args: readonly string[];
}

/**
 * Returns the container of the relay: one whose arguments begin with `job`, or whose command line has them behind
 * {@link RELAY_PROGRAM}. Undefined if the Pod has none.
 */
function relayIn({ spec }: Pod): RelayContainer | undefined {
  for (const { name, command = [], args = [] } of spec.containers) {
    const words = [...command, ...args];
    const own = words.slice(words.indexOf(RELAY_PROGRAM) + 1);
    const rest = own[0] === '--' ? own.slice(1) : own;
    if (rest[0] === 'job') return { name, args: rest };
  }
  return undefined;
}

const RESTART_MS = 1_000;

/** A Pod whose program has been started. */
export interface PodRun {
  readonly name: string;
  /** Job of the Pod. */
  readonly job: string;
  readonly labels: Readonly<Record<string, string>>;
  stdout: string;
  stderr: string;
  /** Undefined while it runs. */
  exitCode: number | undefined;
}

/** A container of the relay that has been started, as often as its restart policy allowed. */
interface Started {
  readonly pod: Pod;
  readonly relay: RelayContainer;
  restarts: number;
}

export interface PodRunnerOptions {
  readonly admin: AdminClient;
  readonly client: KubeClient;
  readonly namespace: string;
  readonly logFolder: string;
  /** Environment of `gpu-rent job` in each Pod. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs the programs of Pods as processes of this computer, as a kubelet runs containers: it binds Pods to a node, reports
 * their states, and sends SIGTERM to those that are deleted or evicted.
 */
export class PodRunner {
  readonly runs: PodRun[] = [];
  readonly #options: PodRunnerOptions;
  readonly #children = new Map<string, ChildProcess>();
  readonly #terminated = new Set<string>();
  readonly #stop = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  constructor(options: PodRunnerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#ended = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    for (const child of this.#children.values()) child.kill('SIGKILL');
  }

  async #run(): Promise<void> {
    const { client, namespace } = this.#options;
    while (!this.#stop.signal.aborted) {
      const { items } = await client.list<Pod>(podResource, { namespace });
      for (const pod of items) await this.#care(pod);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async #care(pod: Pod): Promise<void> {
    const { uid = '', deletionTimestamp } = pod.metadata;
    const child = this.#children.get(uid);
    if (deletionTimestamp !== undefined) this.#terminate(uid);
    else if (child === undefined && pod.spec.nodeName === undefined) await this.#begin(pod);
  }

  /** Sends SIGTERM, once: a second one would end the program before it has decided. */
  #terminate(uid: string): void {
    if (this.#terminated.has(uid)) return;
    this.#terminated.add(uid);
    this.#children.get(uid)?.kill('SIGTERM');
  }

  async #begin(pod: Pod): Promise<void> {
    const relay = relayIn(pod);
    const { name } = pod.metadata;
    // A Pod without a node is deleted at once, before its program can react.
    const target = { apiVersion: 'v1', kind: 'Node', name: NODE };
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target };
    await this.#options.admin.request({ method: 'POST', path: `${this.#pathOf(name)}/binding`, body });
    if (relay === undefined) return;
    await this.#start({ pod, relay, restarts: 0 });
  }

  async #start(started: Started): Promise<void> {
    const { pod, relay, restarts } = started;
    const { logFolder, env } = this.#options;
    const { name, uid = '', ownerReferences, labels = {} } = pod.metadata;
    const run: PodRun = {
      ...{ name, job: ownerReferences?.[0]?.name ?? '', labels },
      ...{ stdout: '', stderr: '', exitCode: undefined },
    };
    this.runs.push(run);
    const child = spawn(process.execPath, ['--import', END_WITH_PARENT, CLI, ...relay.args], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env, POD_NAME: name, POD_UID: uid },
      detached: true,
    });
    this.#children.set(uid, child);
    const log = createWriteStream(join(logFolder, `pod-${name}.log`), { flags: 'a' });
    child.stdout?.on('data', (chunk) => {
      run.stdout += String(chunk);
      log.write(chunk);
    });
    child.stderr?.on('data', (chunk) => {
      run.stderr += String(chunk);
      log.write(chunk);
    });
    child.on('close', (code) => {
      run.exitCode = code ?? 137;
      this.#afterEnd(started, run.exitCode).catch(() => {});
    });
    await this.#setStatus(pod, 'Running', { relay, state: { running: {} }, restarts });
  }

  /** Starts the container again if its restart policy says so; else reports its end. */
  async #afterEnd(started: Started, exitCode: number): Promise<void> {
    const { admin, client, namespace } = this.#options;
    const { pod, relay, restarts } = started;
    const { name, uid = '' } = pod.metadata;
    const policy = pod.spec.restartPolicy;
    const restarted = policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
    if (restarted && !this.#terminated.has(uid) && !this.#stop.signal.aborted) {
      started.restarts += 1;
      await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
      if (!this.#terminated.has(uid) && !this.#stop.signal.aborted) return this.#start(started);
    }
    const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
    const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' };
    await this.#setStatus(pod, phase, { relay, state: { terminated }, restarts });
    const now = await client.get(podResource, { namespace, name });
    if (now?.metadata.uid !== uid || now?.metadata.deletionTimestamp === undefined) return;
    await admin.request({
      method: 'DELETE',
      path: `${this.#pathOf(name)}?gracePeriodSeconds=0`,
      accept: [404],
    });
  }

  #pathOf(name: string): string {
    return `/api/v1/namespaces/${this.#options.namespace}/pods/${name}`;
  }

  /** Reports the state of the relay's container; the others have ended, or end with it. */
  async #setStatus(
    { metadata: { name }, spec }: Pod,
    phase: string,
    {
      relay,
      state,
      restarts,
    }: { readonly relay: RelayContainer; readonly state: object; readonly restarts: number },
  ): Promise<void> {
    const { client, namespace } = this.#options;
    const done = { terminated: { exitCode: 0, reason: 'Completed' } };
    const beside = 'running' in state ? state : done;
    const statusOf = (container: Container, own: object) => ({
      ...{ name: container.name, image: 'gpu-rent', imageID: '', state: own, restartCount: restarts },
      ready: 'running' in own,
    });
    const status = {
      phase,
      // An eviction adds a condition, which must stay.
      ...(phase === 'Running' && { conditions: [{ type: 'Ready', status: 'True' }] }),
      initContainerStatuses: (spec.initContainers ?? []).map((one) => statusOf(one, done)),
      containerStatuses: spec.containers.map((one) =>
        statusOf(one, one.name === relay.name ? state : beside),
      ),
    };
    const patch = { type: 'merge', subresource: 'status', body: { status } } as const;
    await client.patch(podResource, { namespace, name }, patch);
  }
}
