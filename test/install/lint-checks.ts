import type { Manifest } from './helm.ts';
import { ofKind, type Workload, type WorkloadContainer, workloadsOf } from './workload.ts';

/** Default check of kube-linter. Returns its findings. */
export interface LintCheck {
  readonly name: string;
  readonly problems: (objects: readonly Manifest[]) => readonly string[];
}

const SECRET_WORDS = /secret|password|token|api[-_]?key/i;
const SENSITIVE_PORTS = new Set([22]);

type PodSpec = Workload['spec']['template']['spec'];
const ofWorkloads = (name: string, isWrong: (workload: Workload) => boolean): LintCheck => ({
  name,
  problems: (objects) =>
    workloadsOf(objects)
      .filter(isWrong)
      .map(({ metadata }) => metadata.name),
});
const ofPod = (name: string, isWrong: (spec: PodSpec) => boolean): LintCheck =>
  ofWorkloads(name, ({ spec }) => isWrong(spec.template.spec));
const ofContainers = (name: string, isWrong: (container: WorkloadContainer) => boolean): LintCheck => ({
  name,
  problems: (objects) =>
    workloadsOf(objects)
      .flatMap(({ spec }) => spec.template.spec.containers)
      .filter(isWrong)
      .map((container) => container.name),
});
const ofKinds = (
  name: string,
  kind: string,
  isWrong: (object: Manifest, objects: readonly Manifest[]) => boolean,
): LintCheck => ({
  name,
  problems: (objects) =>
    ofKind(objects, kind)
      .filter((object) => isWrong(object, objects))
      .map(({ metadata }) => metadata.name),
});

function matches(selector: unknown, labels: unknown): boolean {
  const carried = (labels ?? {}) as Record<string, string>;
  return Object.entries((selector ?? {}) as Record<string, string>).every(
    ([name, value]) => carried[name] === value,
  );
}

const selects = (selector: unknown, workload: Workload): boolean =>
  matches(selector, workload.spec.template.metadata.labels);

/** Returns true if a selector matches Pods of a Deployment, or a single Pod. */
const findsPods = (selector: unknown, objects: readonly Manifest[]): boolean =>
  workloadsOf(objects).some((workload) => selects(selector, workload)) ||
  ofKind(objects, 'Pod').some(({ metadata }) => matches(selector, metadata.labels));

const specOf = (object: Manifest) => (object.spec ?? {}) as Record<string, unknown>;
const matchLabels = (selector: unknown) => (selector as { matchLabels?: unknown } | undefined)?.matchLabels;

interface Peer {
  readonly podSelector?: unknown;
}

/** Returns the allowed peers of a NetworkPolicy, in both directions. */
function peersOf(policy: Manifest): readonly Peer[] {
  const { ingress = [], egress = [] } = specOf(policy) as Record<
    string,
    readonly Record<string, readonly Peer[]>[]
  >;
  return [...ingress, ...egress].flatMap(({ from = [], to = [] }) => [...from, ...to]);
}

/** Returns true if every backend of an Ingress is a Service, with its port, in the same manifests. */
function leadsToServices(ingress: Manifest, objects: readonly Manifest[]): boolean {
  const named = [
    ...JSON.stringify(ingress).matchAll(/"service":\{"name":"([^"]+)","port":\{"name":"([^"]+)"/g),
  ];
  const served = ofKind(objects, 'Service').map((service) => [service.metadata.name, specOf(service).ports]);
  return named.every(([, name, port]) =>
    served.some(([found, ports]) => found === name && JSON.stringify(ports).includes(`"name":"${port}"`)),
  );
}

const tagOf = (image: string) => (image.includes('@') ? 'digest' : (image.split(':').at(-1) ?? ''));

/** kube-linter's default checks (stackrox/kube-linter:docs/generated/checks.md), each as it defines them. */
export const lintChecks: readonly LintCheck[] = [
  ofKinds('dangling-service', 'Service', (service, objects) => !findsPods(specOf(service).selector, objects)),
  ofKinds(
    'dangling-servicemonitor',
    'ServiceMonitor',
    (monitor, objects) =>
      !ofKind(objects, 'Service').some(({ metadata }) =>
        matches(matchLabels(specOf(monitor).selector), metadata.labels),
      ),
  ),
  ofKinds(
    'dangling-networkpolicy',
    'NetworkPolicy',
    (policy, objects) => !findsPods(matchLabels(specOf(policy).podSelector), objects),
  ),
  ofKinds('dangling-networkpolicypeer-podselector', 'NetworkPolicy', (policy, objects) =>
    peersOf(policy).some(({ podSelector }) => podSelector && !findsPods(matchLabels(podSelector), objects)),
  ),
  ofKinds('dangling-horizontalpodautoscaler', 'HorizontalPodAutoscaler', () => true),
  ofKinds('dangling-ingress', 'Ingress', (ingress, objects) => !leadsToServices(ingress, objects)),
  ofKinds('deprecated-service-account-field', 'Deployment', (object) =>
    /"serviceAccount":/.test(JSON.stringify(object)),
  ),
  ofPod('docker-sock', ({ volumes }) => /docker\.sock/.test(JSON.stringify(volumes))),
  ofContainers(
    'drop-net-raw-capability',
    ({ securityContext }) =>
      !securityContext.capabilities.drop.some((name) => name === 'ALL' || name === 'NET_RAW'),
  ),
  ofContainers('duplicate-env-var', ({ env }) => new Set(env.map(({ name }) => name)).size < env.length),
  ofContainers('env-var-secret', ({ env }) =>
    env.some(({ name, value }) => SECRET_WORDS.test(name) && value !== undefined),
  ),
  ofPod('host-ipc', ({ hostIPC }) => hostIPC),
  ofPod('host-network', ({ hostNetwork }) => hostNetwork),
  ofPod('host-pid', ({ hostPID }) => hostPID),
  ofPod('invalid-target-ports', ({ containers }) =>
    containers.some(({ ports }) => ports.some(({ name }) => !/^[a-z0-9-]{1,15}$/.test(name))),
  ),
  ofKinds('job-ttl-seconds-after-finished', 'Job', () => true),
  ofContainers('latest-tag', ({ image }) => ['latest', ''].includes(tagOf(image))),
  ofContainers(
    'liveness-port',
    ({ livenessProbe, ports }) => !ports.some(({ name }) => name === livenessProbe?.httpGet.port),
  ),
  ofContainers(
    'readiness-port',
    ({ readinessProbe, ports }) => !ports.some(({ name }) => name === readinessProbe?.httpGet.port),
  ),
  ofKinds('startup-port', 'Deployment', (object) => /startupProbe/.test(JSON.stringify(object))),
  ofWorkloads('mismatching-selector', (workload) => !selects(workload.spec.selector.matchLabels, workload)),
  ofWorkloads('no-anti-affinity', ({ spec: { replicas, template } }) => {
    const { affinity, topologySpreadConstraints } = template.spec;
    return replicas > 1 && affinity?.podAntiAffinity === undefined && topologySpreadConstraints.length === 0;
  }),
  {
    name: 'no-extensions-v1beta',
    problems: (objects) =>
      objects
        .filter(({ apiVersion }) => apiVersion.startsWith('extensions/'))
        .map(({ metadata }) => metadata.name),
  },
  ofContainers(
    'no-read-only-root-fs',
    ({ securityContext }) => securityContext.readOnlyRootFilesystem !== true,
  ),
  ofPod('non-existent-service-account', ({ serviceAccountName }) => serviceAccountName === 'default'),
  ofKinds('pdb-max-unavailable', 'PodDisruptionBudget', (budget) =>
    ['0', '0%'].includes(String(specOf(budget).maxUnavailable)),
  ),
  ofKinds('pdb-min-available', 'PodDisruptionBudget', (budget) => specOf(budget).minAvailable !== undefined),
  ofKinds(
    'pdb-unhealthy-pod-eviction-policy',
    'PodDisruptionBudget',
    (budget) => specOf(budget).unhealthyPodEvictionPolicy !== 'AlwaysAllow',
  ),
  ofContainers(
    'privilege-escalation-container',
    ({ securityContext }) => securityContext.allowPrivilegeEscalation !== false,
  ),
  ofContainers('privileged-container', ({ securityContext }) => securityContext.privileged === true),
  ofContainers('run-as-non-root', ({ securityContext }) => securityContext.runAsNonRoot !== true),
  ofPod('sensitive-host-mounts', ({ volumes }) => /hostPath/.test(JSON.stringify(volumes))),
  ofContainers('ssh-port', ({ ports }) =>
    ports.some(({ containerPort }) => SENSITIVE_PORTS.has(containerPort)),
  ),
  ofContainers('unsafe-sysctls', (container) => /sysctls/.test(JSON.stringify(container))),
  ofContainers('unset-cpu-requirements', ({ resources }) => resources.requests.cpu === undefined),
  ofContainers(
    'unset-memory-requirements',
    ({ resources }) => resources.requests.memory === undefined || resources.limits.memory === undefined,
  ),
];
