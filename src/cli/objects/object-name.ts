import {
  endpointGroupResource,
  GROUP,
  gpuInstanceResource,
  type KindNames,
  marketplaceAccountResource,
} from '../../api/v1alpha1/names.ts';
import { toId } from '../../marketplace/ids.ts';
import { usageError } from '../failures/command-error.ts';

const KINDS: readonly KindNames[] = [gpuInstanceResource, endpointGroupResource, marketplaceAccountResource];

/** What a word of the command line names: an object of the cluster, or an id of the marketplace. */
export type Target =
  | { readonly type: 'object'; readonly resource: KindNames; readonly name: string }
  | { readonly type: 'id'; readonly id: string };

/**
 * Reads `gpui/x`, `epg/x`, `gpuacct/x` in every spelling that kubectl takes. A bare integer is an id of the
 * marketplace; a bare name is a GpuInstance. Throws a usage error for any other text.
 */
export function parseTarget(text: string): Target {
  if (/^\d{1,15}$/.test(text)) return { type: 'id', id: toId(Number(text)) };
  const [first = '', second, ...more] = text.split('/');
  const [kind, name] = second === undefined ? [gpuInstanceResource.singular, first] : [first, second];
  const resource = KINDS.find((candidate) => spellingsOf(candidate).includes(kind.toLowerCase()));
  if (!resource) {
    throw usageError(`Unknown kind "${kind}".`, 'Write gpui/name, epg/name or gpuacct/name.');
  }
  if (more.length > 0 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) {
    throw usageError(`"${text}" is not a kind/name such as gpui/trainer.`);
  }
  return { type: 'object', resource, name };
}

/** The same for objects of some kinds. Throws a usage error for an id and for any other kind. */
export function parseObject(
  text: string,
  ...allowed: readonly KindNames[]
): Extract<Target, { type: 'object' }> {
  const target = parseTarget(text);
  if (target.type === 'object' && (allowed.length === 0 || allowed.includes(target.resource))) return target;
  const kinds = (allowed.length === 0 ? KINDS : allowed).map(({ shortNames }) => `${shortNames[0]}/name`);
  throw usageError(`"${text}" is not accepted here.`, `Write ${kinds.join(' or ')}.`);
}

function spellingsOf({ singular, plural, shortNames }: KindNames): readonly string[] {
  return [singular, plural, ...shortNames, `${singular}.${GROUP}`, `${plural}.${GROUP}`];
}

/** As kubectl shows it, e.g. `gpui/trainer`. */
export function shownName({ shortNames, kind }: KindNames, name: string): string {
  return `${shortNames[0] ?? kind}/${name}`;
}
