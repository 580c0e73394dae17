import * as z from 'zod';
import type { Manifest } from './helm.ts';

const probe = z.looseObject({ httpGet: z.looseObject({ path: z.string(), port: z.unknown() }) });

const container = z.looseObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()).default([]),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  ports: z.array(z.looseObject({ name: z.string(), containerPort: z.number() })).default([]),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  resources: z.looseObject({
    requests: z.record(z.string(), z.string()),
    limits: z.record(z.string(), z.string()),
  }),
  securityContext: z.looseObject({
    allowPrivilegeEscalation: z.boolean().optional(),
    privileged: z.boolean().optional(),
    readOnlyRootFilesystem: z.boolean().optional(),
    runAsNonRoot: z.boolean().optional(),
    capabilities: z.looseObject({ add: z.array(z.string()).default([]), drop: z.array(z.string()) }),
  }),
});

const podSpec = z.looseObject({
  serviceAccountName: z.string(),
  hostNetwork: z.boolean().default(false),
  hostPID: z.boolean().default(false),
  hostIPC: z.boolean().default(false),
  hostUsers: z.boolean().optional(),
  priorityClassName: z.string().optional(),
  imagePullSecrets: z.array(z.object({ name: z.string() })).default([]),
  affinity: z.looseObject({}).optional(),
  topologySpreadConstraints: z.array(z.looseObject({ topologyKey: z.string() })).default([]),
  tolerations: z.array(z.looseObject({})).default([]),
  nodeSelector: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.looseObject({ name: z.string() })).default([]),
  securityContext: z.looseObject({
    runAsNonRoot: z.boolean(),
    runAsUser: z.number(),
    seccompProfile: z.object({ type: z.string() }),
  }),
  containers: z.array(container),
});

const deployment = z.looseObject({
  metadata: z.looseObject({ name: z.string(), annotations: z.record(z.string(), z.string()).default({}) }),
  spec: z.looseObject({
    replicas: z.number(),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.looseObject({
      metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
      spec: podSpec,
    }),
  }),
});

/** A Deployment as far as tests read it. */
export type Workload = z.output<typeof deployment>;
export type WorkloadContainer = z.output<typeof container>;

export function ofKind(objects: readonly Manifest[], kind: string): readonly Manifest[] {
  return objects.filter((object) => object.kind === kind);
}

/** Returns every Deployment among rendered objects, the operator's first. */
export function workloadsOf(objects: readonly Manifest[]): readonly Workload[] {
  return ofKind(objects, 'Deployment').map((object) => deployment.parse(object));
}

/** Returns the operator's Deployment among rendered objects. */
export function workloadOf(objects: readonly Manifest[]): Workload {
  const [operator] = workloadsOf(objects);
  if (!operator) throw new Error('there is no Deployment');
  return operator;
}
