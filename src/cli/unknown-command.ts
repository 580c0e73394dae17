import { alternatives, nearest } from '../lib/text.ts';
import type { CatalogEntry } from './command.ts';
import { usageError } from './command-error.ts';
import { kindNamed } from './objects/kind-spelling.ts';

/** Commands for objects of the cluster, by the typed verb. */
const FOR_OBJECTS: Readonly<Record<string, string>> = {
  apply: 'kubectl apply -f FILE creates objects, and gpu-rent plan -f FILE shows what they would rent',
  create: 'gpu-rent run creates a GpuInstance, and kubectl apply -f FILE any object',
  delete: 'kubectl delete ends an object and its machine',
  describe: 'gpu-rent status shows everything about one object',
  destroy: 'kubectl delete ends an object and its machine',
  edit: 'kubectl edit changes an object, and gpu-rent diff -f FILE shows what becomes of its machine',
  get: 'kubectl get lists objects, and gpu-rent status shows everything about one',
  list: 'kubectl get lists objects, and gpu-rent status shows everything about one',
  show: 'gpu-rent status shows everything about one object, and kubectl get lists them',
  suspend: 'gpu-rent pause keeps an object from renting, and gpu-rent stop stops its machine',
};

/** Synonyms of the marketplace's verbs. */
const SAME_VERBS: Readonly<Record<string, readonly string[]>> = {
  buy: ['create', 'rent'],
  delete: ['destroy'],
  describe: ['show', 'get'],
  destroy: ['delete'],
  get: ['show', 'list'],
  kill: ['destroy'],
  ls: ['list'],
  remove: ['destroy', 'delete'],
  rent: ['create'],
  restart: ['reboot'],
  rm: ['destroy', 'delete'],
  show: ['list'],
  terminate: ['destroy'],
};

const MAX_SUGGESTIONS = 3;
const MAX_WRONG_LETTERS = 2;

/** A command line whose first words name no command. */
export interface Unknown {
  readonly entries: readonly CatalogEntry[];
  /** Words from the verb on. */
  readonly words: readonly string[];
  readonly calledAs: string;
}

/** Returns a usage error that names the nearest commands: of the same verb, of the same noun, or of kubectl. */
export function unknownCommand({ entries, words, calledAs }: Unknown): Error {
  const [verb = '', noun = ''] = words.filter((text) => !text.startsWith('-'));
  const typed = noun === '' ? verb : `${verb} ${noun}`;
  const remedy =
    forObject(entries, verb, noun) ?? nearCommands(entries, verb, noun).map((name) => `${calledAs} ${name}`);
  return usageError(
    `Unknown command "${typed}".`,
    typeof remedy === 'string' ? remedy : remedyOf(remedy, { entries, verb, noun, calledAs }),
  );
}

/** Returns the command for an object of the cluster; undefined if the words name none. */
function forObject(entries: readonly CatalogEntry[], verb: string, noun: string): string | undefined {
  const isObject = kindNamed(noun.split('/')[0] ?? '') !== undefined;
  const remedy = FOR_OBJECTS[verb];
  return remedy !== undefined && (isObject || nounsOf(entries, verb).length === 0) ? `${remedy}.` : undefined;
}

/** Returns at most three names, the likeliest first. */
function nearCommands(entries: readonly CatalogEntry[], verb: string, noun: string): readonly string[] {
  const names = allNames(entries);
  const same = (SAME_VERBS[verb] ?? [])
    .map((other) => `${other} ${noun}`)
    .filter((name) => names.includes(name));
  const nouns = nounsOf(entries, verb);
  const near = noun === '' ? undefined : nearest(noun, nouns);
  const verbs = verbsOf(entries, noun);
  const elsewhere = nouns.length > 0 ? verbs.map((other) => `${other} ${noun}`) : [];
  const found = [...(near === undefined ? [] : [`${verb} ${near}`]), ...same, ...elsewhere];
  if (found.length > 0) return [...new Set(found)].slice(0, same.length || MAX_SUGGESTIONS);
  if (nouns.length > 0) return [];
  const nearVerb = nearest(verb, verbs, () => MAX_WRONG_LETTERS);
  if (verbs.length > 0) return nearVerb === undefined ? [] : [`${nearVerb} ${noun}`];
  const typed = (noun === '' ? undefined : nearest(`${verb} ${noun}`, names)) ?? nearest(verb, names);
  return typed === undefined ? [] : [typed];
}

type Words = Pick<Unknown, 'entries' | 'calledAs'> & { readonly verb: string; readonly noun: string };

function remedyOf(near: readonly string[], { entries, verb, noun, calledAs }: Words): string {
  if (near.length > 0) return `Did you mean: ${alternatives(near)}?`;
  const nouns = nounsOf(entries, verb);
  if (nouns.length > 0) return `${calledAs} ${verb} takes: ${nouns.join(', ')}.`;
  const verbs = verbsOf(entries, noun);
  if (verbs.length > 0) return `${calledAs} can ${alternatives(verbs)} ${noun}.`;
  return `${calledAs} --help lists the commands.`;
}

/** Returns the nouns of a verb: from its own names or, without any, from aliases. */
function nounsOf(entries: readonly CatalogEntry[], verb: string): readonly string[] {
  const nouns = (names: readonly string[]) =>
    names.filter((name) => name.startsWith(`${verb} `)).map((name) => name.slice(verb.length + 1));
  const own = nouns(entries.map(({ name }) => name));
  return own.length > 0 ? own : nouns(allNames(entries));
}

/** Returns the verbs that accept a noun. */
function verbsOf(entries: readonly CatalogEntry[], noun: string): readonly string[] {
  return entries
    .filter(({ name }) => name.endsWith(` ${noun}`))
    .map(({ name }) => name.slice(0, -noun.length - 1));
}

function allNames(entries: readonly CatalogEntry[]): readonly string[] {
  return entries.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
}
