import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeKubeconfig } from '../connection.ts';
import { type ServerProcess, startServer } from '../server-process.ts';
import { readCaPem, type Site } from '../site.ts';
import {
  CONTAINERD_SOCKET,
  cniSettings,
  containerdSettings,
  kubeletSettings,
  NODE_NAME,
  type NodePlan,
  type NodeSettings,
  proxySettings,
} from './settings.ts';

function settingsOf(site: Site, { settings }: NodePlan): NodeSettings {
  return { ...settings, folder: site.folder };
}

function writeSettings(site: Site, name: string, content: string | object): string {
  const path = join(site.folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** Needs no API server. */
export function startContainerd(site: Site, plan: NodePlan): ServerProcess {
  const settings = settingsOf(site, plan);
  mkdirSync(join(site.folder, 'cni'), { recursive: true });
  writeSettings(site, 'cni/10-pods.conflist', cniSettings(settings));
  const config = writeSettings(site, 'containerd.toml', containerdSettings(settings));
  return startServer({
    name: 'containerd',
    path: settings.programs.containerd,
    logPath: join(site.folder, 'containerd.log'),
    args: ['--config', config],
  });
}

/** Returns the command that imports an image; append the archive's path. */
export function importCommand(ctr: string, folder: string): string[] {
  return [ctr, '--address', join(folder, CONTAINERD_SOCKET), '--namespace', 'k8s.io', 'images', 'import'];
}

/** Gives the node its first images, as soon as containerd answers. Rejects with what it says if it does not in time. */
export async function importArchives(site: Site, { settings, archives }: NodePlan): Promise<void> {
  const { ctr } = settings.programs;
  const address = ['--address', join(site.folder, CONTAINERD_SOCKET)];
  const run = promisify(execFile);
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      await run(ctr, [...address, '--connect-timeout', '1s', 'version']);
      break;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const [program = '', ...args] = importCommand(ctr, site.folder);
  for (const archive of archives) await run(program, [...args, archive]);
}

type Part = keyof NonNullable<Site['nodeTokens']>;

function kubeconfigOf(site: Site, part: Part): string {
  const path = join(site.folder, `${part}.kubeconfig`);
  const token = site.nodeTokens?.[part] ?? '';
  writeKubeconfig(path, { url: site.url, caPem: readCaPem(site), name: part, token });
  return path;
}

/** Starts scheduler, kubelet and proxy. Call it once the API server is ready. */
export function startNodeServers(site: Site, plan: NodePlan): ServerProcess[] {
  const settings = settingsOf(site, plan);
  const { folder } = site;
  const logPath = (name: string): string => join(folder, `${name}.log`);
  writeSettings(site, 'resolv.conf', '');
  const proxyFile = writeSettings(site, 'proxy.json', proxySettings(settings, kubeconfigOf(site, 'proxy')));
  const kubeletFile = writeSettings(site, 'kubelet.json', kubeletSettings(settings));
  return [
    startServer({
      name: 'kubelet',
      path: plan.servers.kubelet,
      logPath: logPath('kubelet'),
      args: [
        `--config=${kubeletFile}`,
        `--kubeconfig=${kubeconfigOf(site, 'kubelet')}`,
        `--root-dir=${join(folder, 'kubelet')}`,
        `--cert-dir=${join(folder, 'kubelet-certificates')}`,
        `--hostname-override=${NODE_NAME}`,
        `--node-ip=${settings.network.nodeAddress}`,
      ],
    }),
    startServer({
      name: 'kube-scheduler',
      path: plan.servers.scheduler,
      logPath: logPath('kube-scheduler'),
      args: [
        `--kubeconfig=${kubeconfigOf(site, 'scheduler')}`,
        '--leader-elect=false',
        '--bind-address=127.0.0.1',
        '--profiling=false',
      ],
    }),
    startServer({
      name: 'kube-proxy',
      path: plan.servers.proxy,
      logPath: logPath('kube-proxy'),
      args: [`--config=${proxyFile}`, `--hostname-override=${NODE_NAME}`],
    }),
  ];
}
