import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { NODE_FLAGS } from '../../scripts/image/root-files.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import { cacheRoot } from '../../test/cluster/build-cache.ts';
import { buildOnce } from '../../test/cluster/go-build.ts';
import {
  COMPILER_FLAGS,
  type GoModule,
  requiredVersion,
  SMALL_PROGRAM,
} from '../../test/cluster/go-modules.ts';
import { pythonWith } from '../../test/tools/python.ts';
import { type Child, startChild } from '../gateway/child.ts';
import { cpuMs, peakMiB, residentMiB } from '../gateway/process-cost.ts';
import { imageEnvironment } from '../operator/image-environment.ts';
import type { Contestant } from './life.ts';
import type { Stage, WrittenObject } from './stage.ts';

/** Environment in which a contender is started. */
export interface Surroundings {
  readonly stage: Stage;
  readonly namespace: string;
  readonly marketplaceUrl: string;
  readonly apiKey: string;
  readonly paced: boolean;
  readonly logFolder: string;
  readonly pollSeconds: number;
  /** Object as the operator wrote it in this scenario; undefined before. */
  readonly ownObject: WrittenObject | undefined;
}

/** Contender of the comparison. */
export interface Contender {
  readonly name: string;
  readonly version: string;
  /** ServiceAccount at the API server. */
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

const ROOT = join(import.meta.dirname, '..', '..');
const BUNDLE = join(ROOT, 'dist', 'gpu-rent.mjs');
/** Node flags of the image, except for the file that only the image has. */
const IMAGE_FLAGS = NODE_FLAGS.filter((flag) => !flag.startsWith('--import'));
/** The operator as it ships, with the brakes of spending above what a run rents. */
const OWN_FLAGS = [
  ...['--metrics-bind-address', '0', '--health-probe-bind-address', '0', '--log-level', 'warn'],
  ...['--max-rentals-per-hour', '100000', '--max-live-machines', '100000'],
  ...['--max-dollars-per-hour', '1000000', '--min-poll-interval', '1s'],
];

/** The bundle of this repository. */
export const OWN = ownOperator('gpu-rental-operator', 0);
/** Beside two accounts that work is a third whose marketplace does not answer, with so many objects that want to rent there. */
const OWN_BESIDE_DEAD = ownOperator('gpu-rental-operator beside a dead account', 50);

/** Nothing listens there. */
const DEAD_URL = 'http://127.0.0.1:9';

function ownOperator(name: string, onDeadAccount: number): Contender {
  const serviceAccount = 'gpu-rental-operator';
  return {
    ...{ name, version: 'this commit', serviceAccount },
    async prepare() {
      await promisify(execFile)(process.execPath, [join(ROOT, 'scripts', 'build.ts')]);
    },
    async start(surroundings) {
      const { stage, namespace, marketplaceUrl, paced, logFolder } = surroundings;
      await writeAccount(surroundings, namespace);
      const namespaces = [namespace];
      if (onDeadAccount > 0) namespaces.push(await writeDeadAccount(surroundings, onDeadAccount));
      const kubeconfig = await stage.kubeconfigOf(serviceAccount);
      const startedAt = Date.now();
      const child = startChild({
        name: `${name}-${namespace}-${startedAt}`,
        command: process.execPath,
        args: [
          ...[...IMAGE_FLAGS, BUNDLE, 'operator', '--kubeconfig', kubeconfig],
          ...namespaces.flatMap((watched) => ['--watch-namespace', watched]),
          ...['--marketplace-url', marketplaceUrl, '--marketplace-url', DEAD_URL],
          ...['--pacing', paced ? 'documented' : 'off', ...OWN_FLAGS],
        ],
        env: imageEnvironment(),
        logFolder,
      });
      return contestant(child, startedAt);
    },
  };
}

async function writeDeadAccount(surroundings: Surroundings, objects: number): Promise<string> {
  const { stage, namespace } = surroundings;
  const dead = await stage.openObjects(`${namespace}-dead`);
  await writeAccount(surroundings, dead.namespace, DEAD_URL);
  await dead.create(Array.from({ length: objects }, (_, index) => `dead-${index}`));
  await dead.close();
  return dead.namespace;
}

/** Writes the operator's account and key Secret. A second start changes the poll interval. */
async function writeAccount(
  { stage, apiKey, pollSeconds }: Surroundings,
  namespace: string,
  url?: string,
): Promise<void> {
  const { admin } = stage.cluster;
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  const accounts = `/apis/${API_VERSION}/namespaces/${namespace}/marketplaceaccounts`;
  const spec = {
    ...(url && { url }),
    pollInterval: `${pollSeconds}s`,
    apiKeySecretRef: { name: 'marketplace-key' },
  };
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
const GO_PEER: GoModule = {
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
    build: async (report) => ({
      command: join(await buildOnce(process.env, report, { module: GO_PEER }), 'go-peer'),
      args: mode === 'tuned' ? ['--tuned'] : [],
    }),
  });
}

const RUST_FOLDER = join(import.meta.dirname, 'rust');

/** Returns the program that cargo builds in the user's cache; cargo detects changes. */
async function rustProgram(report: (line: string) => void): Promise<string> {
  const target = join(dirname(cacheRoot(process.env)), 'rust-peer');
  report('building the peer with kube-rs from crates, once: minutes of processor time');
  const args = ['build', '--release', '--locked', '--quiet', '--target-dir', target];
  await promisify(execFile)('cargo', args, { cwd: RUST_FOLDER }).catch((error: NodeJS.ErrnoException) => {
    const isMissing = error.code === 'ENOENT';
    throw new Error(
      isMissing ? 'cargo is not on PATH: install Rust from https://rustup.rs' : error.message.slice(0, 600),
    );
  });
  return join(target, 'release', 'rust-peer');
}

const PYTHON_FOLDER = join(import.meta.dirname, 'python');

/** Returns requirements such as `kopf==1.45.2`, one per line. */
const pythonPackages = (): readonly string[] =>
  readFileSync(join(PYTHON_FOLDER, 'requirements.txt'), 'utf8').trim().split('\n');

async function pythonProgram(): Promise<string> {
  const python = await pythonWith(pythonPackages());
  if ('missing' in python) throw new Error(python.missing);
  return python.path;
}

interface Peer {
  readonly name: string;
  readonly version: string;
  readonly serviceAccount: string;
  /** Builds the program if need be. */
  readonly build: (report: (line: string) => void) => Promise<Program>;
  /** Returns additional flags. */
  readonly flags?: (surroundings: Surroundings) => readonly string[];
}

interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Returns a peer. All peers have the same flags, the API server from KUBECONFIG and the key from MARKETPLACE_API_KEY.
 */
function peer({ name, version, serviceAccount, build, flags }: Peer): Contender {
  let program: Program | undefined;
  return {
    ...{ name, version, serviceAccount },
    async prepare(report) {
      program = await build(report);
    },
    async start(surroundings) {
      const { stage, namespace, marketplaceUrl, apiKey, paced, logFolder, pollSeconds } = surroundings;
      if (!program) throw new Error(`${name} is started before it is prepared`);
      const kubeconfig = await stage.kubeconfigOf(serviceAccount);
      const startedAt = Date.now();
      const child = startChild({
        name: `${name}-${namespace}-${startedAt}`,
        command: program.command,
        args: [
          ...[...program.args, '--namespace', namespace, '--marketplace-url', marketplaceUrl],
          ...['--poll-seconds', `${pollSeconds}`, ...(paced ? ['--paced'] : [])],
          ...(flags?.(surroundings) ?? []),
        ],
        env: { KUBECONFIG: kubeconfig, MARKETPLACE_API_KEY: apiKey },
        logFolder,
      });
      return contestant(child, startedAt);
    },
  };
}

const GO_DEFAULT = goPeer('default');
const GO_TUNED = goPeer('tuned');

const KUBE_RS = peer({
  name: 'kube-rs',
  version: requiredCrate('kube'),
  serviceAccount: 'peer-rust',
  build: async (report) => ({ command: await rustProgram(report), args: [] }),
});

function requiredCrate(name: string): string {
  const manifest = readFileSync(join(RUST_FOLDER, 'Cargo.toml'), 'utf8');
  return new RegExp(`^${name} = \\{ version = "([^"]+)"`, 'm').exec(manifest)?.[1] ?? '';
}

const KOPF = peer({
  name: 'kopf',
  version: pythonPackages()[0]?.split('==')[1] ?? '',
  serviceAccount: 'peer-python',
  build: async () => ({ command: await pythonProgram(), args: [join(PYTHON_FOLDER, 'peer.py')] }),
});

/** Contenders that do the whole job, in display order. */
export const OPERATORS: readonly Contender[] = [OWN, GO_TUNED, GO_DEFAULT, KUBE_RS, KOPF];

/** Contenders of some scenarios only. */
export const OTHERS: readonly Contender[] = [OWN_BESIDE_DEAD, bareClient()];

/** Returns a contender without an operator: it only sends the requests of the job, with the operator's contents. */
function bareClient(): Contender {
  const args = [join(import.meta.dirname, 'bare-client.ts')];
  return peer({
    ...{ name: 'bare client', version: process.version, serviceAccount: 'bare-client' },
    build: async () => ({ command: process.execPath, args }),
    flags({ ownObject, logFolder }) {
      if (!ownObject)
        throw new Error('the bare client sends what the operator wrote, which has to run before it');
      const path = join(logFolder, 'own-object.json');
      writeFileSync(path, JSON.stringify(ownObject));
      return ['--object', path];
    },
  });
}
