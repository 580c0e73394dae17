import type { GpuInstanceManifestSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { AGENT_LABEL, API_VERSION, annotations } from '../../api/v1alpha1/names.ts';
import { omitUndefined } from '../../lib/json.ts';
import { canonicalSha256 } from '../../lib/json-hash.ts';
import type { ToolArguments } from './tools.ts';

/** A GpuInstance as the server creates it. */
export interface AgentManifest {
  readonly apiVersion: string;
  readonly kind: 'GpuInstance';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: GpuInstanceManifestSpec;
}

/** A call that describes a machine. */
export type Call =
  | ({ readonly tool: 'plan' } & ToolArguments<'plan'>)
  | ({ readonly tool: 'run' } & ToolArguments<'run'>)
  | ({ readonly tool: 'job' } & ToolArguments<'job'>);

interface Creator {
  readonly agent: string;
  readonly namespace: string;
}

/** Name of an object that only a plan sees. */
const PLANNED_NAME = 'planned';

/**
 * Returns the manifest of a call. The annotation with the hash of the arguments recognizes the same call again. The
 * machine ends at its ceilings: the deletion policy is the default, Destroy.
 */
export function manifestOf(call: Call, { agent, namespace }: Creator): AgentManifest {
  const { tool, gpuNames, gpuCount, maxPrice, maxCost, env = {}, ports = [], account, ...rest } = call;
  const { idempotencyKey, maxRetries = 0, ...own } = { maxRetries: undefined, ...rest };
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: {
      name: idempotencyKey ?? PLANNED_NAME,
      namespace,
      labels: { [AGENT_LABEL]: agent },
      annotations: {
        [annotations.agentCall]: callHash(call),
        ...(maxCost !== undefined && { [annotations.agentMaxCost]: maxCost }),
      },
    },
    spec: {
      ...omitUndefined(own),
      ...(tool === 'job' && { completion: { backoffLimit: maxRetries } }),
      ...(account !== undefined && { accountRef: { name: account } }),
      offers: [omitUndefined({ gpuNames, gpuCount, maxPricePerHour: maxPrice })],
      ...omitUndefined({ maxTotalCost: maxCost }),
      ...(Object.keys(env).length > 0 && {
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
      }),
      ...(ports.length > 0 && { ports: ports.map((containerPort) => ({ containerPort })) }),
    },
  };
}

const HASH_CHARACTERS = 16;

/** Returns a hash that two calls share exactly if their arguments are equal. */
export function callHash(call: unknown): string {
  return canonicalSha256(call).slice(0, HASH_CHARACTERS);
}
