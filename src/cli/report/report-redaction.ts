import { annotations } from '../../api/v1alpha1/names.ts';

const REDACTED = '[redacted]';

/** Annotations of the operator that hold no value of a user; all others are replaced. */
const SHOWN_ANNOTATIONS: ReadonlySet<string> = new Set<string>(Object.values(annotations));

/** Names under which Kubernetes objects carry secrets as text. */
const SECRET_NAME = /(token|password|passphrase|api_?key|private_?key|credential)s?$/i;

/** Fields that may hold anything that a user wrote, at any depth of a spec. */
const USER_TEXT: ReadonlySet<string> = new Set(['onStart', 'command', 'args', 'httpHeaders']);

/**
 * A copy of an object that can be shown: no values of env, of annotations that are not ours, scripts, headers or
 * queries of paths at any depth, and nothing under a secret name.
 */
export function redactObject(object: object): unknown {
  return redactFields({ metadata: {}, ...object });
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
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redactField(name, inner)]));
}

function redactField(name: string, value: unknown): unknown {
  if (USER_TEXT.has(name)) return REDACTED;
  // Objects that this one makes carry metadata of their own, e.g. those of a template.
  if (name === 'metadata' && isFields(value)) return redactMetadata(value);
  if (name === 'env' && Array.isArray(value)) return value.map(redactVariable);
  // The names of Secrets and of keys in them are no secrets: apiKeySecretRef, secretKeyRef.
  if (name.endsWith('Ref')) return value;
  return typeof value === 'string' ? redactText(name, value) : redactFields(value);
}

/** The query of a path may carry a token. */
function redactText(name: string, text: string): string {
  if (name === 'path') return text.replace(/\?.*$/s, `?${REDACTED}`);
  return SECRET_NAME.test(name) ? REDACTED : text;
}

/** The name of a variable tells much, its value nothing that is needed. */
function redactVariable(variable: unknown): unknown {
  if (typeof variable !== 'object' || variable === null || !('value' in variable)) return variable;
  return { ...variable, value: REDACTED };
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
