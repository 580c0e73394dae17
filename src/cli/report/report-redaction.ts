import { annotations } from '../../api/v1alpha1/names.ts';

const REDACTED = '[redacted]';

/** Annotations of ours that hold no value of a user; all others are replaced. */
const SHOWN_ANNOTATIONS: ReadonlySet<string> = new Set<string>(Object.values(annotations));

/** Names under which Kubernetes objects carry secrets as text. */
const SECRET_NAME = /(token|password|passphrase|api_?key|private_?key|credential)s?$/i;

/** Fields that may hold anything that a user wrote, at any depth of a spec. */
const USER_TEXT: ReadonlySet<string> = new Set(['onStart', 'command', 'args', 'httpHeaders']);

/** A copy of an object that can be shown: no values of env, scripts, headers, and nothing under a secret name. */
export function redactObject(object: object): unknown {
  const { metadata, ...rest } = object as { metadata?: Record<string, unknown> };
  return { ...(redactFields(rest) as object), metadata: redactMetadata(metadata ?? {}) };
}

function redactMetadata({
  managedFields: _dropped,
  annotations: noted,
  ...rest
}: Record<string, unknown>): unknown {
  const shown = Object.entries(noted ?? {}).map(([name, value]) => [
    name,
    SHOWN_ANNOTATIONS.has(name) ? value : REDACTED,
  ]);
  return { ...rest, ...(shown.length > 0 ? { annotations: Object.fromEntries(shown) } : {}) };
}

function redactFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactFields);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redactField(name, inner)]));
}

function redactField(name: string, value: unknown): unknown {
  if (USER_TEXT.has(name)) return REDACTED;
  if (name === 'env' && Array.isArray(value)) return value.map(redactVariable);
  // The names of Secrets and of keys in them are no secrets: apiKeySecretRef, secretKeyRef.
  if (name.endsWith('Ref')) return value;
  return typeof value === 'string' && SECRET_NAME.test(name) ? REDACTED : redactFields(value);
}

/** The name of a variable tells much, its value nothing that is needed. */
function redactVariable(variable: unknown): unknown {
  if (typeof variable !== 'object' || variable === null || !('value' in variable)) return variable;
  return { ...variable, value: REDACTED };
}
