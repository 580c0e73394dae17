import { API_VERSION, INSTALL_DEFINITIONS } from '../api/v1alpha1/names.ts';
import { statusForms } from '../api/v1alpha1/status-codec.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import { isJsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/logger.ts';
import { isKubeError } from '../runtime/kube/kube-error.ts';

export interface DefinitionsCheck {
  /** Reads the API server's OpenAPI document of this API group. Rejects with a KubeError. */
  readonly read: () => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Path of that document: every authenticated client may read it. */
export const OPENAPI_PATH = `/openapi/v3/apis/${API_VERSION}`;

/** The API server publishes a changed CRD within seconds. */
const TRIES = 15;
const RETRY_MS = 1_000;

/**
 * Resolves if the CRDs have `status.record`. It rejects if they do not: an older CRD would drop each claim on a machine
 * while the machine bills. An API server that does not publish the document is not checked.
 */
export async function requireRecordField({ read, clock, log }: DefinitionsCheck): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const missing = await kindsWithoutRecord(read, log);
    if (missing.length === 0) return;
    if (tries === TRIES)
      throw new Error(
        `The CRD of ${missing.join(', ')} is older than this operator: it has no status.record. ${INSTALL_DEFINITIONS}`,
      );
    await sleep(clock, RETRY_MS);
  }
}

async function kindsWithoutRecord(read: () => Promise<unknown>, log: Logger): Promise<readonly string[]> {
  try {
    const document = await read();
    return Object.keys(statusForms).filter((kind) => lacksRecord(schemaOf(document, kind)));
  } catch (error) {
    if (!isKubeError(error, 'forbidden', 'notFound')) throw error;
    log.warn('CRDs are not checked: the API server does not publish their schemas', { error });
    return [];
  }
}

/** Returns true if the schema lacks `status.record`. A kind that is not served has no schema: the caches report it. */
function lacksRecord(schema: unknown): boolean {
  return schema !== undefined && member(schema, 'properties', 'status', 'properties', 'record') === undefined;
}

function schemaOf(document: unknown, kind: string): unknown {
  const schemas = member(document, 'components', 'schemas');
  const [, schema] =
    Object.entries(isJsonObject(schemas) ? schemas : {}).find(([name]) => name.endsWith(`.${kind}`)) ?? [];
  return schema;
}

function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined),
    value,
  );
}
