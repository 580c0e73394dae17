import type { CatalogEntry, CommandOption } from './command.ts';
import { kindNamed } from './objects/kind-spelling.ts';
import { GLOBAL_OPTIONS } from './options/option-sets.ts';

/** Command of a command line. `rest` is everything but the command's name. */
export type Located =
  | { readonly type: 'command'; readonly entry: CatalogEntry; readonly rest: readonly string[] }
  | {
      readonly type: 'group';
      readonly verb: string;
      readonly words: readonly string[];
      readonly rest: readonly string[];
    }
  | { readonly type: 'none'; readonly words: readonly string[]; readonly rest: readonly string[] };

/** Shared options with a value, in every spelling: only these may take a word before the command. */
const TAKES_VALUE: ReadonlySet<string> = new Set(
  GLOBAL_OPTIONS.filter(({ flags }) => /[<[]/.test(flags)).flatMap(spellings),
);

/** Returns the spellings of an option: `-n, --namespace <name>` is `-n` and `--namespace`. */
export function spellings({ flags }: Pick<CommandOption, 'flags'>): readonly string[] {
  return flags.split(/[ ,|]+/).filter((part) => part.startsWith('-'));
}

/**
 * Finds the command that the words name; the longest name wins. Shared options may come before it; they are appended in
 * their order.
 */
export function locate(catalog: readonly CatalogEntry[], args: readonly string[]): Located {
  const { at, before } = firstArgument(args);
  const words = args.slice(at);
  const [one = '', second = ''] = words;
  const both = byName(catalog, `${one} ${second}`) ?? byKind(catalog, one, second);
  if (both) return { type: 'command', entry: both, rest: [...before, ...words.slice(2)] };
  const ofObject = byKind(catalog, one, second.split('/')[0] ?? '');
  const entry = ofObject ?? byName(catalog, one);
  if (entry) return { type: 'command', entry, rest: [...before, ...words.slice(1)] };
  const rest = [...before, ...words.slice(1)];
  const isVerb = catalog.some(({ name }) => name.startsWith(`${one} `));
  return isVerb ? { type: 'group', verb: one, words, rest } : { type: 'none', words, rest };
}

function byName(catalog: readonly CatalogEntry[], words: string): CatalogEntry | undefined {
  return catalog.find(({ name, aliases }) => name === words || aliases?.includes(words));
}

/** Returns the command of a verb and a kind in any spelling: `suspend gpuacct`, `simulate endpointgroups`. */
function byKind(catalog: readonly CatalogEntry[], verb: string, text: string): CatalogEntry | undefined {
  const kind = kindNamed(text);
  const nouns = kind === undefined ? [] : [...kind.shortNames, kind.singular, KIND_NOUNS[kind.kind]];
  return nouns.map((noun) => byName(catalog, `${verb} ${noun}`)).find((entry) => entry !== undefined);
}

/** Nouns of kinds that no other Kubernetes program uses for a kind. */
const KIND_NOUNS: Readonly<Record<string, string>> = { MarketplaceAccount: 'account' };

/** Returns the start of the command, after shared options. */
export function firstArgument(args: readonly string[]): { at: number; before: readonly string[] } {
  let at = 0;
  while (at < args.length && args[at]?.startsWith('-')) at += TAKES_VALUE.has(args[at] ?? '') ? 2 : 1;
  return { at, before: args.slice(0, at) };
}

/**
 * Returns the options in the command's spelling: the specification writes `--min_load`, and both spellings are
 * accepted. Everything after `--` is unchanged.
 */
export function respell(args: readonly string[], options: readonly CommandOption[]): readonly string[] {
  const known = new Map(options.flatMap(spellings).map((flag) => [dashed(flag), flag]));
  const end = args.indexOf('--');
  return args.map((arg, at) => {
    if (!arg.startsWith('--') || (end >= 0 && at >= end)) return arg;
    const [flag = '', ...value] = arg.split('=');
    const spelt = known.get(dashed(flag));
    return spelt === undefined ? arg : [spelt, ...value].join('=');
  });
}

function dashed(flag: string): string {
  return flag.replaceAll('_', '-');
}
