import { annotations } from '../../../src/api/v1alpha1/names.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { Failure } from '../memory-kube/failure.ts';
import { isObject, type Json, type JsonObject, listAt, metadataOf } from '../memory-kube/json.ts';
import { minding } from '../oracle/faults.ts';
import { statusAt } from '../status-at.ts';
import { Users } from '../users.ts';
import { NAMESPACE, SimulatedWorld } from '../world.ts';
import { applyEdit } from './edit.ts';
import { fieldsOf, valueAt, withValue } from './edits.ts';
import type { Edited } from './subjects.ts';

/** Texts that an attacker writes into text fields. */
export const HOSTILE_TEXTS: Readonly<Record<string, string>> = {
  newline: 'a\r\nHost: x\n',
  controls: '\u0000\u0001\u001b[2J\u007f',
  nonLatin: '\u65e5\u672c\ud83d\ude00\u202e',
  loneSurrogate: 'a\ud800b',
  prototype: '__proto__',
  constructor: 'constructor',
  expression: '(a+)+$[',
  url: 'http://169.254.169.254/latest?a=b#c',
  traversal: '../../../etc/passwd%2e%2e/',
  template: `$\{HOME}$(id)\`id\`{{.}}`,
  quotes: '"\';--\\',
  number: '-1e309',
  duration: '999999999999999999h',
  empty: '',
  blank: ' ',
  long: 'x'.repeat(20_000),
  longPattern: `${'a'.repeat(10_000)}!`,
};

const SECOND = 1000;
const HEALTHY = 'healthy';
const SECRET = 'hostile';
/** Enough for groups and accounts to be looked at. */
const SECONDS = 120;
/** Enough to rent all machines at the documented pace, and for their probes to begin. */
const SECONDS_OF_RENTALS = 420;

/** Result of one hostile text. */
export interface HostileOutcome {
  /** Broken promises, each in one line. */
  readonly problems: readonly string[];
  /** Objects that the schema took and that the operator had to bear. */
  readonly taken: number;
  readonly refused: number;
}

/** An object with the text in one field. */
interface Hostile {
  readonly field: string;
  readonly plural: string;
  readonly body: JsonObject;
}

/**
 * Writes a text into every text of a kind, each in an object of its own and counted from 0, and runs the operator beside a healthy
 * object. Rules in CEL are not evaluated, so that what they would refuse reaches the operator, too.
 */
export async function playHostile(edited: Edited, textOf: (at: number) => string): Promise<HostileOutcome> {
  const world = new SimulatedWorld({
    ...{ seed: 1, offers: 400, keepTrace: false, flags: { maxRentalsPerHour: '200' } },
    fate: () => ({ requestMs: 2, responseMs: 2 }),
  });
  const users = new Users(world, seededRandom(1));
  users.account.create('Report');
  users.createInstance(HEALTHY);
  world.startProcess();
  const problems: string[] = [];
  const reports = { report: (invariant: string, what: string) => problems.push(`${invariant}: ${what}`) };
  const taken: (Hostile & { readonly name: string })[] = [];
  let refused = 0;
  await minding(reports, async () => {
    await run(world, 60);
    createSecret(world, textOf(0));
    for (const [at, hostile] of hostilesOf(edited, textOf).entries()) {
      const name = `h-${at}`;
      if (create(world, name, hostile)) taken.push({ ...hostile, name });
      else refused += 1;
    }
    await run(world, edited.subject.plural === 'gpuinstances' ? SECONDS_OF_RENTALS : SECONDS);
  });
  const phase = statusAt(read(world, 'gpuinstances', HEALTHY))['phase'];
  if (phase !== 'Running') problems.push(`the healthy object is ${JSON.stringify(phase)}`);
  if (world.processes.length === 0) problems.push('the process ended');
  for (const { name, field, plural } of taken)
    if (!hasConditions(read(world, plural, name))) problems.push(`${field}: the object has no condition`);
  return { problems, taken: taken.length, refused };
}

async function run(world: SimulatedWorld, seconds: number): Promise<void> {
  await world.scheduler.runUntil(world.now + seconds * SECOND, () => true);
}

/** Returns one hostile object per text field, key and value of a map, and annotation of this operator. */
function hostilesOf(edited: Edited, textOf: (at: number) => string): readonly Hostile[] {
  const { plural } = edited.subject;
  const fields = fieldsOf(edited.schema, []).flatMap(({ path, schema }, at) => {
    const text = textOf(at);
    const specOf = (value: Json) => asObject(withValue(specWith(edited, path), path, value));
    if (isText(schema)) return [{ field: path.join('.'), body: { spec: specOf(text) } }];
    if (!isObject(schema['additionalProperties'])) return [];
    return [
      { field: `${path.join('.')} value`, body: { spec: specOf({ key: text }) } },
      { field: `${path.join('.')} key`, body: { spec: specOf(Object.fromEntries([[text, 'x']])) } },
    ];
  });
  const own = Object.values(annotations).map((name, at) => ({
    field: name,
    body: { metadata: { annotations: { [name]: textOf(at) } }, spec: edited.first },
  }));
  return [...fields, ...own, ...secretsOf(edited)].map((hostile) => ({ plural, ...hostile }));
}

/** Returns one object per Secret reference of the spec. */
function secretsOf({ subject, first }: Edited): readonly Omit<Hostile, 'plural'>[] {
  const ref = { name: SECRET, key: 'text' };
  const withSpec = (field: string, spec: JsonObject) => ({ field, body: { spec: { ...first, ...spec } } });
  if (subject.plural === 'marketplaceaccounts')
    return [withSpec('Secret of the key', { apiKeySecretRef: ref })];
  if (subject.plural !== 'gpuinstances') return [];
  return [
    withSpec('Secret of the environment', { env: [{ name: 'TEXT', valueFrom: { secretKeyRef: ref } }] }),
    withSpec('Secret of the script', { onStartFrom: { secretKeyRef: ref } }),
    withSpec('Secret of the registry', { imagePullSecretRef: { name: SECRET } }),
  ];
}

/** Creates a Secret that has the text as token and as registry login. */
function createSecret(world: SimulatedWorld, text: string): void {
  const kind = world.kube.kind('secrets');
  const login = { auths: { 'docker.io': { username: text, password: text }, [text]: { auth: text } } };
  const base64 = (value: string) => Buffer.from(value).toString('base64');
  world.kube.writes.create(
    { kind, namespace: NAMESPACE, name: SECRET },
    {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRET } },
      type: 'kubernetes.io/dockerconfigjson',
      data: { text: base64(text), '.dockerconfigjson': base64(JSON.stringify(login)) },
    },
  );
}

const isText = (schema: JsonObject): boolean =>
  schema['type'] === 'string' || schema['x-kubernetes-int-or-string'] === true;

const asObject = (value: Json): JsonObject => (isObject(value) ? value : {});

/** Returns an accepted spec with a text at that path, so that no other member is missing. */
function specWith({ first, edits }: Edited, path: readonly string[]): JsonObject {
  const specs = edits
    .filter(({ answer }) => answer === 'taken')
    .map((edit) => applyEdit(first, first, edit))
    .filter((spec) => valueAt(spec, path) !== undefined);
  return specs[0] ?? first;
}

function create(world: SimulatedWorld, name: string, { plural, body }: Hostile): boolean {
  const kind = world.kube.kind(plural);
  const metadata = { ...metadataOf(body), name };
  try {
    const whole = { apiVersion: 'gpurental.dev/v1alpha1', kind: kind.kind, ...body, metadata };
    world.kube.writes.create({ kind, namespace: NAMESPACE, name }, whole);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

function read(world: SimulatedWorld, plural: string, name: string): JsonObject {
  return world.kube.writes.read({ kind: world.kube.kind(plural), namespace: NAMESPACE, name }) ?? {};
}

function hasConditions(object: JsonObject): boolean {
  return listAt(statusAt(object), 'conditions').length > 0;
}
