import { gpuInstanceResource, type KindNames } from '../../api/v1alpha1/names.ts';
import { toId } from '../../markets/vast/ids.ts';
import { usageError } from '../command-error.ts';
import { KINDS, kindNamed } from './kind-spelling.ts';

/** Target of a word of the command line: an object of the cluster, or an id of the marketplace. */
export type Target =
  | { readonly type: 'object'; readonly resource: KindNames; readonly name: string }
  | { readonly type: 'id'; readonly id: string };

/** An object by kind and name; in the namespace of the command unless it has one. */
export interface ObjectName {
  readonly resource: KindNames;
  readonly name: string;
  readonly namespace?: string | undefined;
}

/**
 * Reads `gpui/x`, `epg/x`, `gpuacct/x`, `gpubudget/x` in every spelling that kubectl accepts. A bare integer is an id of the
 * marketplace; a bare name is a GpuInstance. Throws a usage error for any other text.
 */
export function parseTarget(text: string): Target {
  if (/^\d{1,15}$/.test(text)) return { type: 'id', id: toId(Number(text)) };
  const [first = '', second, ...more] = text.split('/');
  const [kind, name] = second === undefined ? [gpuInstanceResource.singular, first] : [first, second];
  const resource = kindNamed(kind);
  if (!resource) {
    throw usageError(`Unknown kind "${kind}".`, 'Write gpui/name, epg/name, gpuacct/name or gpubudget/name.');
  }
  if (more.length > 0 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) {
    throw usageError(`"${text}" is not a kind/name such as gpui/trainer.`);
  }
  return { type: 'object', resource, name };
}

/** Reads the name of an object of certain kinds. Throws a usage error for an id and for any other kind. */
export function parseObject(
  text: string,
  ...allowed: readonly KindNames[]
): Extract<Target, { type: 'object' }> {
  const target = parseTarget(text);
  if (target.type === 'object' && (allowed.length === 0 || allowed.includes(target.resource))) return target;
  const kinds = (allowed.length === 0 ? KINDS : allowed).map(({ shortNames }) => `${shortNames[0]}/name`);
  throw usageError(`"${text}" is not accepted here.`, `Write ${kinds.join(' or ')}.`);
}

/** Options of {@link joinKind}. */
export interface JoinOptions {
  /** Returns true if the word after this option is its value. */
  readonly takesValue: (flag: string) => boolean;
  /** True if the command accepts several objects: then a kind counts for all of them. */
  readonly several: boolean;
}

/**
 * Joins kinds and names as kubectl does: `gpui x` is `gpui/x` and, for a command with several objects, `gpui x y` is
 * `gpui/x gpui/y`. Options and everything after `--` stay unchanged.
 */
export function joinKind(args: readonly string[], { takesValue, several }: JoinOptions): readonly string[] {
  const [first, ...more] = positions(args, takesValue);
  const kind = first === undefined ? undefined : args[first];
  const named = more.slice(0, several ? undefined : 1);
  const isJoined = kind !== undefined && kindNamed(kind) !== undefined && named.length > 0;
  if (!isJoined || named.some((at) => args[at]?.includes('/'))) return args;
  return args.flatMap((arg, at) => {
    if (at === first) return [];
    return [named.includes(at) ? `${kind}/${arg}` : arg];
  });
}

/** Returns the positions of the words that are neither options nor their values. */
function positions(args: readonly string[], takesValue: JoinOptions['takesValue']): readonly number[] {
  const found: number[] = [];
  for (let at = 0; at < args.length && args[at] !== '--'; at += 1) {
    const arg = args[at] ?? '';
    if (!arg.startsWith('-')) found.push(at);
    else if (takesValue(arg)) at += 1;
  }
  return found;
}

/** Returns the name as kubectl shows it, e.g. `gpui/trainer`. */
export function shownName({ shortNames, kind }: KindNames, name: string): string {
  return `${shortNames[0] ?? kind}/${name}`;
}
