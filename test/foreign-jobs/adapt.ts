import { RELAY_PROGRAM } from '../../scripts/demo/pod-runner.ts';
import type { ForeignObject } from './read-manifest.ts';

/** Label of every Pod of a manifest, with the name of its object. */
export const MANIFEST_LABEL = 'foreign.example/manifest';

/** Program by which a manifest's own one is replaced. */
export interface RelayProgram {
  /** Name of the object. */
  readonly name: string;
  /** Arguments behind the name of the program. */
  readonly args: readonly string[];
  readonly serviceAccount: string;
  /** Leaves a Pod as it is. */
  readonly isPod?: boolean | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

interface PodTemplate {
  readonly metadata?: { readonly labels?: Fields };
  readonly spec: Fields & { readonly containers: readonly Fields[]; readonly restartPolicy?: string };
}

interface JobSpec extends Fields {
  readonly template: PodTemplate;
}

/**
 * Returns a foreign object with the relay as the program of its first container; everything else stays as its author
 * wrote it, as far as a controller that this test runs understands it. A Pod becomes the template of a Job.
 */
export function adapted(object: ForeignObject, relay: RelayProgram): ForeignObject {
  const own = object.metadata as { labels?: Fields } | undefined;
  const labels = { ...own?.labels, [MANIFEST_LABEL]: relay.name };
  const metadata = { ...own, name: relay.name, generateName: undefined, namespace: undefined, labels };
  const spec = SPECS[object.kind]?.(object.spec, relay);
  if (spec === undefined) throw new Error(`no way to run a ${object.kind}`);
  if (object.kind !== 'Pod') return { ...object, metadata, spec };
  const template = podTemplate({ metadata: { labels }, spec: spec as PodTemplate['spec'] }, relay);
  if (relay.isPod) return { ...object, metadata, spec: template.spec };
  const job = {
    backoffLimit: 0,
    template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } },
  };
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: relay.name, labels }, spec: job };
}

const SPECS: Readonly<Record<string, (spec: Fields, relay: RelayProgram) => Fields>> = {
  Pod: (spec) => spec,
  // Nothing admits a queued Job here.
  Job: (spec, relay) => ({ ...jobSpec(spec as JobSpec, relay), suspend: false }),
  JobSet: jobSetSpec,
  Workflow: workflowSpec,
  TaskRun: taskRunSpec,
};

function jobSpec(spec: JobSpec, relay: RelayProgram): JobSpec {
  return { ...spec, template: podTemplate(spec.template, relay) };
}

function podTemplate({ metadata = {}, spec }: PodTemplate, relay: RelayProgram): PodTemplate {
  const labels = { ...metadata.labels, [MANIFEST_LABEL]: relay.name };
  const containers = withRelay(spec.containers, relay);
  return {
    metadata: { ...metadata, labels },
    spec: { ...spec, containers, serviceAccountName: relay.serviceAccount },
  };
}

/** Puts the relay into the first container; a Pod has one relay, and its other containers end at once. */
function withRelay(containers: readonly Fields[], { args }: RelayProgram): readonly Fields[] {
  return containers.map((container, index) => ({
    ...container,
    image: 'registry.example/gpu-rent:1',
    command: [index === 0 ? RELAY_PROGRAM : 'true'],
    args: index === 0 ? args : undefined,
    script: undefined,
    source: undefined,
  }));
}

/** Adds the defaults of JobSet's admission webhook, which does not run here: an index, a restart policy, policies. */
function jobSetSpec(spec: Fields, relay: RelayProgram): Fields {
  const { replicatedJobs, failurePolicy } = spec as {
    replicatedJobs: readonly { template: { spec: JobSpec } }[];
    failurePolicy?: { rules?: readonly Fields[] };
  };
  const rules = failurePolicy?.rules?.map((rule, index) => ({ name: `failurePolicyRule${index}`, ...rule }));
  return {
    ...{
      successPolicy: { operator: 'All' },
      startupPolicy: { startupPolicyOrder: 'AnyOrder' },
      suspend: false,
    },
    ...spec,
    ...(failurePolicy && { failurePolicy: { ...failurePolicy, rules } }),
    replicatedJobs: replicatedJobs.map((one) => {
      const job = jobSpec(one.template.spec, relay);
      const podSpec = { ...job.template.spec, restartPolicy: job.template.spec.restartPolicy ?? 'OnFailure' };
      const indexed = { ...job, completionMode: 'Indexed', template: { ...job.template, spec: podSpec } };
      return { replicas: 1, ...one, template: { ...one.template, spec: indexed } };
    }),
    network: { enableDNSHostnames: false },
  };
}

function workflowSpec(spec: Fields, relay: RelayProgram): Fields {
  const { templates, podMetadata } = spec as {
    templates: readonly { container?: Fields; script?: Fields }[];
    podMetadata?: { labels?: Fields };
  };
  const labels = { ...podMetadata?.labels, [MANIFEST_LABEL]: relay.name };
  return {
    ...spec,
    serviceAccountName: relay.serviceAccount,
    podMetadata: { ...podMetadata, labels },
    templates: templates.map((template) => {
      const { container, script, ...rest } = template;
      const program = container ?? script;
      return program === undefined ? template : { ...rest, container: withRelay([program], relay)[0] };
    }),
  };
}

function taskRunSpec(spec: Fields, relay: RelayProgram): Fields {
  const { taskSpec, podTemplate: pod } = spec as {
    taskSpec: { steps: readonly Fields[] };
    podTemplate?: Fields;
  };
  return {
    ...spec,
    serviceAccountName: relay.serviceAccount,
    podTemplate: pod,
    taskSpec: { ...taskSpec, steps: withRelay(taskSpec.steps, relay) },
  };
}
