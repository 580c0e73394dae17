import { isDeepStrictEqual } from 'node:util';
import type { GpuInstance, GpuInstanceManifestSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { API_VERSION, annotations, gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { runLabel, runName } from './run-name.ts';
import type { RunOwner } from './run-owner.ts';

/** A GpuInstance without a name: the relay derives it from the owner. */
export interface RunManifest {
  readonly metadata?:
    | {
        readonly labels?: Readonly<Record<string, string>> | undefined;
        readonly annotations?: Readonly<Record<string, string>> | undefined;
      }
    | undefined;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Returns the object of a try, with the owner and the marks by which later Pods recognize it. */
export function withOwner(
  { metadata = {}, spec }: RunManifest,
  owner: RunOwner,
  { attempt, namespace }: { readonly attempt: number; readonly namespace: string },
): GpuInstance {
  const object = {
    apiVersion: API_VERSION,
    kind: gpuInstanceResource.kind,
    metadata: {
      name: runName(owner, attempt),
      namespace,
      labels: { ...metadata.labels, [labels.jobRun]: runLabel(owner) },
      annotations: { ...metadata.annotations, [annotations.jobTry]: String(attempt) },
      ownerReferences: [owner.reference],
    },
    // Without completion the machine would be a service, and replaced when its program ends.
    spec: { ...withIndex(spec, owner), completion: kept(spec) },
  };
  // The API server adds the defaults, and checks the spec.
  return object as unknown as GpuInstance;
}

/**
 * Returns `completion` without `ttlAfterFinished`: an object that expired before the next Pod reads its result would be
 * rented again. The object goes with its owner.
 */
function kept(spec: RunManifest['spec']): GpuInstanceManifestSpec['completion'] {
  const { completion } = spec as GpuInstanceManifestSpec;
  const { ttlAfterFinished: _, ...rest } = completion ?? {};
  return rest;
}

/** Variable by which Kubernetes passes the index to the containers of an indexed Job. */
const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX';

/** Passes the index of an indexed Job on to the machine, unless the spec sets the variable itself. */
function withIndex(spec: RunManifest['spec'], { index }: RunOwner): RunManifest['spec'] {
  const { env = [] } = spec as GpuInstanceManifestSpec;
  if (index === undefined || env.some(({ name }) => name === INDEX_VARIABLE)) return spec;
  return { ...spec, env: [...env, { name: INDEX_VARIABLE, value: String(index) }] };
}

/** Returns true if no alternative of the spec can cost more per hour than a written limit. */
export function isPriceLimited({ offers = [] }: Pick<GpuInstanceManifestSpec, 'offers'>): boolean {
  return offers.length > 0 && offers.every(({ maxPricePerHour }) => maxPricePerHour !== undefined);
}

/** Fields that say what a machine runs. The API server adds no default to them. */
const PROGRAM = ['image', 'command', 'args', 'onStart'] as const;

/** Returns true if an object runs the program that a spec requests. */
export function runsProgram(stored: RunManifest['spec'], requested: RunManifest['spec']): boolean {
  return PROGRAM.every((field) => isDeepStrictEqual(stored[field], requested[field]));
}
