import type { ModuleVersion } from './modules.ts';
import { ARGO, JOBSET, KUBERNETES, KUEUE, TEKTON } from './modules.ts';

/** A manifest that another project publishes. */
export interface ForeignManifest {
  readonly module: ModuleVersion;
  /** Path in the module. */
  readonly file: string;
  /** Position among the objects of the file that run Pods, from 0. */
  readonly position?: number;
  /** A Pod that no Job runs. */
  readonly isPod?: boolean;
  /** The relay refuses it, and its message names this field. */
  readonly refusedBy?: string;
}

const of =
  (module: ModuleVersion, folder: string) =>
  (file: string, rest: Partial<ForeignManifest> = {}): ForeignManifest => ({
    module,
    file: `${folder}/${file}`,
    ...rest,
  });

const kubernetes = of(KUBERNETES, 'test');
const scheduled = of(KUBERNETES, 'test/integration/scheduler_perf/templates');
const kubectl = of(KUBERNETES, 'hack/testdata');
const kueue = of(KUEUE, 'cmd/kueueviz/examples');
const jobSet = of(JOBSET, 'keps');
const argo = of(ARGO, 'examples');
const tekton = of(TEKTON, 'examples/v1/taskruns');

/** Manifests that the Job controller of Kubernetes runs: Jobs, and templates of Pods. */
export const PLAIN: readonly ForeignManifest[] = [
  kubernetes('fixtures/doc-yaml/user-guide/job.yaml'),
  kubernetes('fixtures/doc-yaml/user-guide/pod.yaml'),
  kueue('03-agi-job.yaml', { refusedBy: 'completionMode' }),
  kubernetes('fixtures/doc-yaml/user-guide/secrets/secret-env-pod.yaml'),
  scheduled('pod-with-node-affinity.yaml'),
  kubectl('pod-with-api-env.yaml'),
];

/** All manifests. Those of other projects run under the controllers of those projects. */
export const MANIFESTS: readonly ForeignManifest[] = [
  ...PLAIN,
  kubernetes('fixtures/doc-yaml/user-guide/multi-pod.yaml'),
  kubernetes('e2e/testing-manifests/kubectl/agnhost-primary-pod.yaml'),
  kubectl('pod-with-metadata-and-probes.yaml'),
  kubectl('pod-restricted-runtime-default.yaml'),
  scheduled('pod-with-topology-spreading.yaml'),
  scheduled('pod-with-secret-volume.yaml'),
  // The default restart policy would rent again after each end.
  scheduled('pod-default.yaml', { isPod: true, refusedBy: 'restartPolicy' }),
  jobSet('262-ConfigurableFailurePolicy/README.md'),
  jobSet('672-serial-job-execution/README.md'),
  jobSet('104-StartupPolicy/README.md'),
  ...[
    ...['hello-world', 'dag-diamond', 'steps', 'loops', 'loops-dag', 'loops-maps', 'loops-sequence'],
    ...['dag-multiroot', 'dag-targets', 'global-parameters', 'arguments-parameters', 'node-selector'],
    ...['dns-config', 'gc-ttl', 'image-pull-secrets', 'default-pdb-support', 'archive-location'],
    ...['label-value-from-workflow', 'parallelism-limit', 'parallelism-template-limit', 'pod-metadata'],
    ...['pod-metadata-wf-field', 'pod-spec-patch', 'pod-spec-yaml-patch', 'retry-backoff'],
    ...['retry-container', 'retry-on-error', 'retry-script', 'colored-logs', 'template-defaults'],
  ].map((name) => argo(`${name}.yaml`)),
  argo('k8s-jobs.yaml', { refusedBy: 'completionMode' }),
  ...[
    ...['custom-env', 'entrypoint-resolution', 'home-is-set', 'step-by-digest', 'steps-run-in-order'],
    ...['unnamed-steps', 'using_context_variables', '5080-entrypoint-init-regression', 'array-default'],
    ...['propagating_params_implicit', 'steptemplate-variable-interop', 'workingdir', 'custom-volume'],
  ].map((name) => tekton(`${name}.yaml`)),
];
