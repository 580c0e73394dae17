import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueIdentity } from '../../src/cli/commands/simulator-certificate.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { type ServerProcess, startServer } from '../cluster/server-process.ts';
import { downloadModule, type GoTool, goTool } from '../tools/go-tool.ts';
import { ARGO, JOBSET, TEKTON } from './modules.ts';

/** A controller of another project, as a process of this computer. */
export interface Engine {
  readonly tool: GoTool;
  /** Files of its module to apply before it starts: definitions, and its configuration. */
  readonly files: readonly string[];
  /** Prepares its configuration. Resolves to its arguments and its environment. */
  readonly prepare: (place: EnginePlace) => Promise<EngineCommand>;
}

/** Cluster and folder of an engine. */
interface EnginePlace {
  readonly cluster: Cluster;
  readonly folder: string;
  readonly namespace: string;
}

interface EngineCommand {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const LOOPBACK = '127.0.0.1:0';

/** Controller of JobSet. Its webhook is not registered, but it needs a certificate to start. */
const jobSet: Engine = {
  tool: { ...JOBSET, main: '.' },
  files: ['config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml'],
  prepare: async ({ cluster, folder }) => {
    const identity = await issueIdentity(['127.0.0.1']);
    const certificates = join(folder, 'certificates');
    mkdirSync(certificates, { recursive: true });
    writeFileSync(join(certificates, 'tls.crt'), identity.certificate.cert);
    writeFileSync(join(certificates, 'tls.key'), identity.certificate.key, { mode: 0o600 });
    identity.issued?.remove();
    const config = join(folder, 'jobset.json');
    writeFileSync(
      config,
      JSON.stringify({
        ...{ apiVersion: 'config.jobset.x-k8s.io/v1alpha1', kind: 'Configuration' },
        internalCertManagement: { enable: false },
        leaderElection: { leaderElect: false },
        webhook: { host: '127.0.0.1', port: await findFreePort(), certDir: certificates },
        metrics: { bindAddress: '0' },
        health: { healthProbeBindAddress: LOOPBACK },
      }),
    );
    return {
      args: [
        ...[`--kubeconfig=${cluster.kubeconfigPath}`, `--config=${config}`],
        ...['--metrics-bind-address=0', `--health-probe-bind-address=${LOOPBACK}`],
      ],
    };
  },
};

const argo: Engine = {
  tool: { ...ARGO, main: 'cmd/workflow-controller' },
  files: [
    ...['workflows', 'workflowtemplates', 'clusterworkflowtemplates', 'cronworkflows', 'workflowtasksets'],
    ...['workflowtaskresults', 'workflowartifactgctasks'],
  ].map((plural) => `manifests/base/crds/minimal/argoproj.io_${plural}.yaml`),
  prepare: async ({ cluster, namespace }) => {
    await apply(cluster, namespace, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'workflow-controller-configmap' } },
      data: {
        config: JSON.stringify({ metricsConfig: { enabled: false }, telemetryConfig: { enabled: false } }),
      },
    });
    return {
      args: [
        ...[`--kubeconfig=${cluster.kubeconfigPath}`, '--namespaced', `--managed-namespace=${namespace}`],
        ...[`--namespace=${namespace}`, '--executor-image=registry.example/argoexec:1'],
      ],
      env: { LEADER_ELECTION_DISABLE: 'true', ARGO_NAMESPACE: namespace },
    };
  },
};

const TEKTON_NAMESPACE = 'tekton-pipelines';

const tekton: Engine = {
  tool: { ...TEKTON, main: 'cmd/controller' },
  files: [
    'config/100-namespace/100-namespace.yaml',
    ...['customrun', 'pipeline', 'pipelinerun', 'resolutionrequest', 'stepaction', 'task', 'taskrun']
      .concat('verificationpolicy')
      .map((kind) => `config/300-crds/300-${kind}.yaml`),
    ...['defaults', 'events', 'feature-flags', 'leader-election-controller', 'logging', 'observability']
      .concat('registry-cert', 'spire', 'tracing', 'wait-exponential-backoff')
      .map((name) => `config/config-${name}.yaml`),
  ],
  prepare: async ({ cluster }) => {
    const images = ['entrypoint', 'sidecarlogresults', 'nop', 'shell', 'shell-image-win', 'workingdirinit'];
    const image = (name: string) => [
      `--${name.replace(/^(\w+)$/, '$1-image')}`,
      `registry.example/${name}:1`,
    ];
    return {
      args: [`--kubeconfig=${cluster.kubeconfigPath}`, '--disable-ha', ...images.flatMap(image)],
      env: {
        ...{ SYSTEM_NAMESPACE: TEKTON_NAMESPACE, KUBERNETES_MIN_VERSION: 'v1.28.0' },
        ...{ CONFIG_LOGGING_NAME: 'config-logging', CONFIG_OBSERVABILITY_NAME: 'config-observability' },
        ...{ CONFIG_LEADERELECTION_NAME: 'config-leader-election-controller' },
        ...{ METRICS_DOMAIN: 'tekton.dev/pipeline', PROBES_PORT: String(await findFreePort()) },
      },
    };
  },
};

export const ENGINES: readonly Engine[] = [jobSet, argo, tekton];

function apply(cluster: Cluster, namespace: string, object: object): Promise<string> {
  const args = ['apply', '--server-side', '--namespace', namespace, '--filename', '-'];
  return cluster.kubectl(args, { stdin: JSON.stringify(object) });
}

/** Builds the engine once, applies its files and starts it. Rejects if its module cannot be built. */
export async function startEngine(
  engine: Engine,
  place: EnginePlace & { readonly logFolder: string },
): Promise<ServerProcess> {
  const { cluster, logFolder } = place;
  const path = await goTool(engine.tool);
  const module = await downloadModule(engine.tool, { ...process.env, GOWORK: 'off', GOFLAGS: '' });
  for (const file of engine.files) {
    const created = ['apply', '--server-side', '--force-conflicts', '--filename', join(module, file)];
    await cluster.kubectl(created);
  }
  const { args, env } = await engine.prepare(place);
  const name = engine.tool.module.split('/').at(-1) ?? '';
  return startServer({ name, path, args, env, logPath: join(logFolder, `${name}.log`) });
}
