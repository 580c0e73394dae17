/**
 * The process that owns a control plane. It runs beside the tests or the demo, in a process group of its own, and
 * hears through its channel when they end: however that happens, it stops the servers and removes their folder. With a
 * node it runs in the node's namespaces, and init.sh, which started it, ends and removes everything when it ends.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeKubeconfig } from './connection.ts';
import { ControlPlane } from './control-plane.ts';
import type { KeeperCommand, KeeperEvent, KeptSite } from './keeper-messages.ts';
import { connectToHost } from './node/network.ts';
import { type ControlPlanePlan, prepareSite, readCaPem, type Site } from './site.ts';

/** A free port may be taken by another program before the server has it. */
const ATTEMPTS = 3;

/** With a node it was made before its namespaces. */
const given = process.argv[2];
const folder = given ?? mkdtempSync(join(tmpdir(), 'gpu-rental-cluster-'));
let plane: ControlPlane | undefined;
let site: KeptSite | undefined;
let closing: Promise<void> | undefined;

function send(event: KeeperEvent): void {
  if (process.connected) process.send?.(event);
}

function describe(prepared: Site): KeptSite {
  const { url, etcdUrl, adminToken } = prepared;
  const caPem = readCaPem(prepared);
  const kubeconfigPath = join(folder, 'admin.kubeconfig');
  writeKubeconfig(kubeconfigPath, { url, caPem, token: adminToken, name: 'gpu-rental-test' });
  return { url, etcdUrl, caPem, adminToken, kubeconfigPath, folder, auditLogPath: prepared.audit?.logPath };
}

async function start(plan: ControlPlanePlan, attempt = 1): Promise<void> {
  const node = plan.node?.settings;
  if (node !== undefined && attempt === 1) await connectToHost(node.programs.ip, node.network);
  const prepared = await prepareSite(plan, folder);
  plane = new ControlPlane(prepared, (how) => {
    // What ends before the first start is done fails that start, which says why.
    if (site !== undefined) send({ type: 'lost', how });
  });
  try {
    await plane.start();
    site = describe(prepared);
  } catch (error) {
    await plane.stop();
    const portTaken = String(error).includes('address already in use');
    if (!portTaken || attempt === ATTEMPTS || closing !== undefined) throw error;
    rmSync(join(folder, 'etcd'), { recursive: true, force: true });
    await start(plan, attempt + 1);
  }
}

function close(): Promise<void> {
  closing ??= (async () => {
    if (given !== undefined) return;
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  })();
  return closing;
}

function obey(command: KeeperCommand): Promise<void> | undefined {
  switch (command.type) {
    case 'start':
      return start(command.plan);
    case 'startApiServer':
      return plane?.startApiServer();
    case 'stopApiServer':
      return plane?.stopApiServer();
    case 'stop':
      return close();
  }
}

async function answer(command: KeeperCommand): Promise<void> {
  try {
    await obey(command);
    const processIds = { keeper: process.pid, ...plane?.processIds() };
    const state = { processIds, site, nodeTimes: plane?.nodeTimes };
    send({ type: 'done', id: command.id, state });
  } catch (error) {
    send({ type: 'failed', id: command.id, why: error instanceof Error ? error.message : String(error) });
  }
}

send({ type: 'up' });
// Only the process that forked this one can write here, and it sends nothing else.
process.on('message', (command: KeeperCommand) => void answer(command));
for (const end of ['disconnect', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(end, () => void close().then(() => process.exit(0)));
}
