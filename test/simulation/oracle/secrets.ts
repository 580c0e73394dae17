import type { TransportRequest } from '../../../src/lib/transport.ts';
import { WRONG_TEXT } from '../../../src/simulator/faults/wrong-field.ts';
import { isObject, type JsonObject, objectAt } from '../memory-kube/json.ts';
import { ownerUids } from '../memory-kube/writes.ts';
import { SYSTEM_NAMESPACE } from '../world.ts';
import type { Scene } from './scene.ts';

/** Keys of Secrets whose values no other party may see. */
const SECRET_KEYS = new Set([
  'api-key',
  'apiKey',
  'keys',
  'instance-api-key',
  'worker-token',
  'password',
  'token',
]);
/** Secrets that no machine may get. */
const KEPT_FROM_MACHINES = new Set([
  'the API key',
  ...['api-key', 'keys', 'instance-api-key'].map((key) => `${key} of a Secret`),
]);
/** Anything shorter is found in ordinary words. */
const MIN_LENGTH = 8;

const SECRET_PATH = /^\/api\/v1\/namespaces\/([^/]+)\/secrets(?:\/([^/]+))?$/;

/**
 * Returns true if a Secret may be written: the policy's CEL in other words, and for an orphaned Secret also the
 * operator's marks.
 */
function isWritable(secret: JsonObject, namespace: string, method: string): boolean {
  const { name, labels } = objectAt(secret, 'metadata');
  if (secret['type'] === 'servicebinding.io/gpu-instance' || secret['type'] === 'gpurental.dev/log') {
    const isMarked = isObject(labels) && labels['gpurental.dev/instance-uid'] !== undefined;
    return ownerUids(secret).length > 0 || (method === 'DELETE' && isMarked);
  }
  const isOwn = name === 'gpu-rental-operator-identity' || String(name).startsWith('gpuacct-');
  return isOwn && secret['type'] === 'Opaque' && namespace === SYSTEM_NAMESPACE;
}

/** I12: no secret in anything that is written, logged or measured. Secrets are learnt where they are kept. */
export class SecretWatch {
  readonly #scene: Scene;
  readonly #values = new Map<string, string>();
  readonly #reported = new Set<string>();

  constructor(scene: Scene) {
    this.#scene = scene;
    this.learn('the API key', scene.world.market.apiKey);
  }

  /** Records a secret value, searched as it is and in base64. */
  learn(what: string, value: string): void {
    for (const line of value.split(/\s+/)) {
      // A wrong reply with that text in place of a key tells no secret: other fields have it as well.
      if (line.length < MIN_LENGTH || line === WRONG_TEXT) continue;
      this.#values.set(line, what);
      this.#values.set(Buffer.from(line).toString('base64').replace(/=+$/, ''), what);
    }
  }

  /** Records a written Secret: its values are searched in all other places. */
  stored(secret: JsonObject): void {
    for (const [key, value] of Object.entries(objectAt(secret, 'data'))) {
      if (!SECRET_KEYS.has(key) || typeof value !== 'string') continue;
      this.learn(`${key} of a Secret`, Buffer.from(value, 'base64').toString('utf8'));
    }
  }

  /** Checks a requested rental: the machine gets a token of its own, and no key that no machine may have. */
  rentSent(body: string): void {
    this.#search('a rental', body, (what) => KEPT_FROM_MACHINES.has(what));
  }

  /** Checks a written Secret: only such as the admission policy of an installation lets the operator write (M9). */
  writeSent({ method, path, body }: TransportRequest): void {
    const [, namespace = '', name] = SECRET_PATH.exec(path.split('?')[0] ?? '') ?? [];
    if (namespace === '' || method === 'GET') return;
    const secret = name === undefined ? JSON.parse(body ?? '{}') : this.#storedSecret(namespace, name);
    if (secret === undefined || isWritable(secret, namespace, method)) return;
    const called = String(objectAt(secret, 'metadata')['name']);
    const what = `${method} of the Secret ${namespace}/${called}, which the operator may not write`;
    if (this.#reported.has(what)) return;
    this.#reported.add(what);
    this.#scene.broken('I12', what);
  }

  #storedSecret(namespace: string, name: string): JsonObject | undefined {
    const { kube } = this.#scene.world;
    return kube.writes.read({ kind: kube.kind('secrets'), namespace, name });
  }

  /** Looks at text that leaves a process by `where`. */
  read(where: string, text: string): void {
    this.#search(where, text, () => true);
  }

  #search(where: string, text: string, mayNot: (what: string) => boolean): void {
    for (const [value, what] of this.#values) {
      if (!text.includes(value) || !mayNot(what) || this.#reported.has(`${where} ${what}`)) continue;
      this.#reported.add(`${where} ${what}`);
      this.#scene.broken('I12', `${what} is in ${where}`);
    }
  }
}

/** Returns the text of a log line: fields as JSON, errors with their message, stack and cause. */
export function loggedText(message: string, fields: unknown): string {
  return `${message} ${JSON.stringify(fields, holdsObjects(fields) ? withErrors : undefined) ?? ''}`;
}

/** Returns true if the fields contain objects: most lines have words and numbers only. */
const holdsObjects = (fields: unknown): boolean =>
  typeof fields === 'object' &&
  fields !== null &&
  Object.values(fields).some((value) => typeof value === 'object');

const withErrors = (_key: string, value: unknown): unknown =>
  value instanceof Error ? { message: value.message, stack: value.stack, cause: value.cause } : value;
