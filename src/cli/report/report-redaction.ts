import { annotations } from '../../api/v1alpha1/names.ts';

const REDACTED = '[redacted]';

/** Annotations of the operator without a user's value; all others are replaced. */
const SHOWN_ANNOTATIONS: ReadonlySet<string> = new Set<string>(Object.values(annotations));

/** Names under which Kubernetes objects carry secrets as text. */
const SECRET_NAME = /(token|password|passphrase|api_?key|private_?key|credential)s?$/i;

/** Fields that may contain any text of a user, at any depth of a spec. */
const USER_TEXT: ReadonlySet<string> = new Set(['onStart', 'command', 'args', 'httpHeaders']);

/**
 * Returns a copy of an object that can be shown: without values of env, foreign annotations, scripts, headers or path
 * queries at any depth, and without anything under a secret name.
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
  // Objects that this one creates have metadata of their own, for example in a template.
  if (name === 'metadata' && isFields(value)) return redactMetadata(value);
  if (name === 'env' && Array.isArray(value)) return value.map(redactVariable);
  // The names of Secrets and of their keys are no secrets: apiKeySecretRef, secretKeyRef.
  if (name.endsWith('Ref')) return value;
  return typeof value === 'string' ? redactText(name, value) : redactFields(value);
}

/** Returns the text without path queries, which may contain a token. */
function redactText(name: string, text: string): string {
  if (name === 'path') return text.replace(/\?.*$/s, `?${REDACTED}`);
  return SECRET_NAME.test(name) ? REDACTED : text;
}

/** Returns a variable without its value: the name is useful, the value is not needed. */
function redactVariable(variable: unknown): unknown {
  if (typeof variable !== 'object' || variable === null || !('value' in variable)) return variable;
  return { ...variable, value: REDACTED };
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
