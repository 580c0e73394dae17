import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A Go module of this repository, whose programs are built once for each state of its sources. */
export interface GoModule {
  /** Name of its folder in the cache. */
  readonly name: string;
  /** Folder of its sources; the packages to build are in it and below. */
  readonly folder: string;
  /** Version of its programs. */
  readonly version: string;
  readonly flags: readonly string[];
  /** Title that users read during the build. */
  readonly title: string;
  /** Names by which a program is called that does several things, each with that program's name. */
  readonly links: ReadonlyMap<string, string>;
}

/** Returns the version of another module that the module in that folder requires. */
export function requiredVersion(folder: string, path: string): string {
  const pattern = new RegExp(`^(?:require)?\\s*${path.replaceAll('.', '\\.')} (v\\d+\\.\\d+\\.\\d+)$`, 'm');
  const found = pattern.exec(readFileSync(join(folder, 'go.mod'), 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${folder}/go.mod requires no ${path}.`);
  return found;
}

const CONTROL_PLANE_FOLDER = join(import.meta.dirname, 'control-plane');
const NODE_IMAGES_FOLDER = join(import.meta.dirname, 'node-images');

/** The version of Kubernetes that the tests use. */
export const KUBERNETES_VERSION = requiredVersion(CONTROL_PLANE_FOLDER, 'k8s.io/kubernetes');
const COREDNS_VERSION = requiredVersion(NODE_IMAGES_FOLDER, 'github.com/coredns/coredns');

/** Returns the linker flags that set the version: without them the server reports v0.0.0-master. */
function linkerFlags(): string {
  const [major = '', minor = ''] = KUBERNETES_VERSION.slice(1).split('.');
  const facts = { gitVersion: KUBERNETES_VERSION, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const sets = Object.entries(facts).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  );
  return `${SMALL_PROGRAM} ${sets.join(' ')}`;
}

/** No debug tables: a tenth less time and a quarter less disk. Packages that two programs need are compiled once. */
export const COMPILER_FLAGS = ['-trimpath', '-gcflags=all=-dwarf=false'];
export const SMALL_PROGRAM = '-ldflags=-s -w';

const CONTROL_PLANE_PARTS = ['etcd', 'kube-apiserver', 'test-controllers', 'kubectl'];
/** On Linux only: see node_linux.go. */
const NODE_PARTS = ['kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'kubelet'];
const PARTS = process.platform === 'linux' ? [...CONTROL_PLANE_PARTS, ...NODE_PARTS] : CONTROL_PLANE_PARTS;

/** All servers and kubectl in one program. */
export const CONTROL_PLANE: GoModule = {
  name: 'control-plane',
  folder: CONTROL_PLANE_FOLDER,
  version: KUBERNETES_VERSION,
  flags: [...COMPILER_FLAGS, linkerFlags()],
  title: `Building kube-apiserver ${KUBERNETES_VERSION} from Go modules, once: 4 to 8 minutes on 2 cores`,
  links: new Map(PARTS.map((part) => [part, 'control-plane'])),
};

/** The programs of the two images without which no Pod of a node starts or finds another. */
export const NODE_IMAGES: GoModule = {
  name: 'node-images',
  folder: NODE_IMAGES_FOLDER,
  version: COREDNS_VERSION,
  flags: [...COMPILER_FLAGS, SMALL_PROGRAM],
  title: `Building CoreDNS ${COREDNS_VERSION} from Go modules, once: 1 to 2 minutes on 2 cores`,
  links: new Map(),
};
