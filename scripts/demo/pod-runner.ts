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

interface Pod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly args?: readonly string[] }[];
  };
}

/** A Pod whose program has been started. */
export interface PodRun {
  readonly name: string;
  /** Job of the Pod. */
  readonly job: string;
  stdout: string;
  stderr: string;
  /** Undefined while it runs. */
  exitCode: number | undefined;
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
    const { admin, logFolder, env } = this.#options;
    const { name, uid = '', ownerReferences } = pod.metadata;
    // A Pod without a node is deleted at once, before its program can react.
    const target = { apiVersion: 'v1', kind: 'Node', name: NODE };
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target };
    await admin.request({ method: 'POST', path: `${this.#pathOf(name)}/binding`, body });
    const run: PodRun = {
      ...{ name, job: ownerReferences?.[0]?.name ?? '' },
      ...{ stdout: '', stderr: '', exitCode: undefined },
    };
    this.runs.push(run);
    const args = pod.spec.containers[0]?.args ?? [];
    const child = spawn(process.execPath, ['--import', END_WITH_PARENT, CLI, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env, POD_NAME: name, POD_UID: uid },
      detached: true,
    });
    this.#children.set(uid, child);
    const log = createWriteStream(join(logFolder, `pod-${name}.log`));
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
      this.#report(pod, run.exitCode).catch(() => {});
    });
    await this.#setStatus(name, { phase: 'Running', containerStatuses: [this.#container({ running: {} })] });
  }

  async #report({ metadata: { name, uid } }: Pod, exitCode: number): Promise<void> {
    const { admin, client, namespace } = this.#options;
    const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
    const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' };
    await this.#setStatus(name, { phase, containerStatuses: [this.#container({ terminated })] });
    const pod = await client.get(podResource, { namespace, name });
    if (pod?.metadata.uid !== uid || pod?.metadata.deletionTimestamp === undefined) return;
    await admin.request({
      method: 'DELETE',
      path: `${this.#pathOf(name)}?gracePeriodSeconds=0`,
      accept: [404],
    });
  }

  #pathOf(name: string): string {
    return `/api/v1/namespaces/${this.#options.namespace}/pods/${name}`;
  }

  #container(state: object): object {
    return { name: 'gpu', image: 'gpu-rent', imageID: '', ready: 'running' in state, restartCount: 0, state };
  }

  async #setStatus(name: string, status: object): Promise<void> {
    const { client, namespace } = this.#options;
    const patch = { type: 'merge', subresource: 'status', body: { status } } as const;
    await client.patch(podResource, { namespace, name }, patch);
  }
}
