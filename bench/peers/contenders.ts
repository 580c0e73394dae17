import { join } from 'node:path';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import { buildOnce } from '../../test/cluster/go-build.ts';
import {
  COMPILER_FLAGS,
  type GoModule,
  requiredVersion,
  SMALL_PROGRAM,
} from '../../test/cluster/go-modules.ts';
import { type Child, startChild } from '../gateway/child.ts';
import { cpuMs, peakMiB, residentMiB } from '../gateway/process-cost.ts';
import { imageEnvironment } from '../operator/image-environment.ts';
import type { Contestant } from './life.ts';
import type { Stage } from './stage.ts';

/** Where a contender is started. */
export interface Surroundings {
  readonly stage: Stage;
  readonly namespace: string;
  readonly marketplaceUrl: string;
  readonly apiKey: string;
  readonly paced: boolean;
  readonly logFolder: string;
  readonly pollSeconds: number;
}

/** One of those who are compared. */
export interface Contender {
  readonly name: string;
  readonly version: string;
  /** Who it is to the API server. */
  readonly serviceAccount: string;
  /** Builds what it runs; rejects with the reason why it cannot be had here. */
  prepare(report: (line: string) => void): Promise<void>;
  start(surroundings: Surroundings): Promise<Contestant>;
}

function contestant(child: Child, startedAt: number): Contestant {
  return {
    startedAt,
    cpuMs: () => cpuMs(child.pid),
    residentMiB: () => residentMiB(child.pid),
    peakMiB: () => peakMiB(child.pid),
    check: () => child.check(),
    kill: () => process.kill(child.pid, 'SIGKILL'),
    stop: () => child.stop(),
  };
}

const BUNDLE = join(import.meta.dirname, '..', '..', 'dist', 'gpu-rent.mjs');
/** The operator as it ships, with the brakes of spending above what a run rents. */
const OWN_FLAGS = [
  ...['--metrics-bind-address', '0', '--health-probe-bind-address', '0', '--log-level', 'warn'],
  ...['--max-rentals-per-hour', '100000', '--max-live-machines', '100000'],
  ...['--max-dollars-per-hour', '1000000', '--min-poll-interval', '1s'],
];

/** The bundle of this repository. */
export const OWN: Contender = {
  name: 'gpu-rental-operator',
  version: 'this commit',
  serviceAccount: 'gpu-rental-operator',
  async prepare() {},
  async start(surroundings) {
    const { stage, namespace, marketplaceUrl, paced, logFolder } = surroundings;
    await writeAccount(surroundings);
    const kubeconfig = await stage.kubeconfigOf(this.serviceAccount);
    const startedAt = Date.now();
    const child = startChild({
      name: `${this.name}-${namespace}-${startedAt}`,
      command: process.execPath,
      args: [
        ...[BUNDLE, 'operator', '--kubeconfig', kubeconfig, '--watch-namespace', namespace],
        ...['--marketplace-url', marketplaceUrl, '--pacing', paced ? 'documented' : 'off', ...OWN_FLAGS],
      ],
      env: imageEnvironment(),
      logFolder,
    });
    return contestant(child, startedAt);
  },
};

/** What only the operator needs: the account and the Secret with its key. A second start changes the poll interval. */
async function writeAccount({ stage, namespace, apiKey, pollSeconds }: Surroundings): Promise<void> {
  const { admin } = stage.cluster;
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  const accounts = `/apis/${API_VERSION}/namespaces/${namespace}/marketplaceaccounts`;
  const spec = { pollInterval: `${pollSeconds}s`, apiKeySecretRef: { name: 'marketplace-key' } };
  const secret = { metadata: { name: 'marketplace-key' }, stringData: { 'api-key': apiKey } };
  await admin.request({ method: 'POST', path: secrets, body: secret, accept: [409] });
  const head = { apiVersion: API_VERSION, kind: 'MarketplaceAccount', metadata: { name: 'default' } };
  const made = await admin.request({
    method: 'POST',
    path: accounts,
    body: { ...head, spec },
    accept: [409],
  });
  if (made.status === 409)
    await admin.request({ method: 'PATCH', path: `${accounts}/default`, body: { spec } });
}

const GO_FOLDER = join(import.meta.dirname, 'go');

/** The peer with controller-runtime. */
export const GO_PEER: GoModule = {
  name: 'go-peer',
  folder: GO_FOLDER,
  version: requiredVersion(GO_FOLDER, 'sigs.k8s.io/controller-runtime'),
  flags: [...COMPILER_FLAGS, SMALL_PROGRAM],
  title: 'Building the peer with controller-runtime from Go modules, once: 1 to 2 minutes',
  links: new Map(),
};

function goPeer(mode: 'default' | 'tuned'): Contender {
  return peer({
    name: `controller-runtime ${mode}`,
    version: GO_PEER.version,
    serviceAccount: `peer-go-${mode}`,
    build: async (report) => join(await buildOnce(process.env, report, { module: GO_PEER }), 'go-peer'),
    args: mode === 'tuned' ? ['--tuned'] : [],
  });
}

interface Peer {
  readonly name: string;
  readonly version: string;
  readonly serviceAccount: string;
  /** The program, built if need be. */
  readonly build: (report: (line: string) => void) => Promise<string>;
  readonly args: readonly string[];
}

/** All peers take the same flags, the API server from KUBECONFIG and the key from MARKETPLACE_API_KEY. */
function peer({ name, version, serviceAccount, build, args }: Peer): Contender {
  let program = '';
  return {
    ...{ name, version, serviceAccount },
    async prepare(report) {
      program = await build(report);
    },
    async start({ stage, namespace, marketplaceUrl, apiKey, paced, logFolder, pollSeconds }) {
      const kubeconfig = await stage.kubeconfigOf(serviceAccount);
      const startedAt = Date.now();
      const child = startChild({
        name: `${name}-${namespace}-${startedAt}`,
        command: program,
        args: [
          ...[...args, '--namespace', namespace, '--marketplace-url', marketplaceUrl],
          ...['--poll-seconds', `${pollSeconds}`, ...(paced ? ['--paced'] : [])],
        ],
        env: { KUBECONFIG: kubeconfig, MARKETPLACE_API_KEY: apiKey },
        logFolder,
      });
      return contestant(child, startedAt);
    },
  };
}

export const GO_DEFAULT = goPeer('default');
export const GO_TUNED = goPeer('tuned');

/** In the order in which they are shown. */
export const CONTENDERS: readonly Contender[] = [OWN, GO_TUNED, GO_DEFAULT];
