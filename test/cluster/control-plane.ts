import { type NodeTimes, waitForNode } from './node/ready.ts';
import { importArchives, startContainerd, startNodeServers } from './node/servers.ts';
import type { NodePlan } from './node/settings.ts';
import { isReady } from './readiness.ts';
import { startControllers, startEtcd, startKubeApiserver } from './server-commands.ts';
import type { ServerProcess } from './server-process.ts';
import { certificatePath, type Site } from './site.ts';

const READY_WITHIN_MS = 120_000;
/** While a watch is open the API server would wait a minute for it to end; etcd has what it acknowledged. */
const GRACE_MS = 1_500;

/** Resolves when the API server answers; rejects when a server it needs has ended, or nothing comes of it. */
async function waitUntilReady(site: Site, needed: readonly ServerProcess[]): Promise<void> {
  let gaveUp: string | undefined;
  for (const server of needed) void server.ended.then((how) => (gaveUp = how));
  const deadline = performance.now() + READY_WITHIN_MS;
  const question = {
    address: site.address,
    port: site.port,
    caPath: certificatePath(site),
    token: site.adminToken,
  };
  while (!(await isReady(question))) {
    if (gaveUp !== undefined) throw new Error(gaveUp);
    if (performance.now() > deadline) {
      throw new Error(`kube-apiserver was not ready within ${READY_WITHIN_MS / 1000} s`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** etcd, API server, controllers and perhaps a node, with all their data in one folder. */
export class ControlPlane {
  readonly #site: Site;
  readonly #onLoss: (how: string) => void;
  /** In the order of their start. */
  readonly #running = new Map<string, ServerProcess>();
  #nodeTimes: NodeTimes | undefined;

  /** `onLoss` hears of a server that ended without being told to. */
  constructor(site: Site, onLoss: (how: string) => void) {
    this.#site = site;
    this.#onLoss = onLoss;
  }

  /** Resolves when the API is ready. After a failure, {@link stop} still has to be called. */
  async start(): Promise<void> {
    this.#keep(startEtcd(this.#site));
    await (this.#site.plan.node === undefined
      ? this.startApiServer()
      : this.#startWithNode(this.#site.plan.node));
  }

  /** Durations of the node's start steps, from the moment the API was ready. */
  get nodeTimes(): NodeTimes | undefined {
    return this.#nodeTimes;
  }

  async #startWithNode(plan: NodePlan): Promise<void> {
    const site = this.#site;
    let lost: string | undefined;
    this.#keep(startContainerd(site, plan), (how) => (lost ??= how));
    const imported = importArchives(site, plan);
    imported.catch(() => {});
    await this.startApiServer();
    for (const server of startNodeServers(site, plan)) this.#keep(server, (how) => (lost ??= how));
    const ready = waitForNode(site, plan, () => lost);
    await Promise.all([imported, ready]);
    this.#nodeTimes = await ready;
  }

  processIds(): Record<string, number> {
    return Object.fromEntries([...this.#running.values()].map(({ name, pid }) => [name, pid]));
  }

  /** Brings the API back at the same address with the same keys, and resolves when it is ready. */
  async startApiServer(): Promise<void> {
    this.#keep(startKubeApiserver(this.#site));
    await waitUntilReady(this.#site, [...this.#running.values()]);
    if (this.#running.has('kube-apiserver')) this.#keep(startControllers(this.#site));
  }

  /** Takes the API away; etcd keeps the data. Controllers go first, or they would wake from their backoff late. */
  async stopApiServer(): Promise<void> {
    await this.#end('controllers');
    await this.#end('kube-apiserver');
  }

  /** Stops the API server before etcd: without etcd it would not end. */
  async stop(): Promise<void> {
    await this.stopApiServer();
    await this.#end('etcd');
  }

  #keep(server: ServerProcess | undefined, onEnd: (how: string) => void = () => {}): void {
    if (server === undefined) return;
    this.#running.set(server.name, server);
    void server.ended.then((how) => {
      if (this.#running.get(server.name) !== server) return;
      this.#running.delete(server.name);
      onEnd(how);
      this.#onLoss(how);
    });
  }

  async #end(name: string): Promise<void> {
    const server = this.#running.get(name);
    this.#running.delete(name);
    await server?.stop(GRACE_MS);
  }
}
