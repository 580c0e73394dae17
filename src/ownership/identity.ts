import { agreeing, counted } from '../lib/plural.ts';
import { Secret } from '../lib/secret.ts';
import type { KeyRing } from './key-ring.ts';

/** Identity of this installation: the source of signatures of its labels, claims and intents. */
export interface Identity {
  /** 32 lower-case hex characters, drawn once. */
  readonly installId: string;
  /** The first eight of them, as labels carry it. */
  readonly installId8: string;
  /** The first key signs, all verify. */
  readonly keys: KeyRing;
  /** uid of the `kube-system` namespace when the identity was created; undefined if the operator may not read it. */
  readonly kubeSystemUid: string | undefined;
  /** Namespaces that the installation has ever watched: `*`, or namespaces sorted and joined by commas. */
  readonly scope: string;
}

/** The Secret of the operator's namespace that holds the identity. */
export const IDENTITY_SECRET = 'gpu-rental-operator-identity';

/** Facts known at start about an installation's identity. */
export interface IdentityFacts {
  readonly stored: Identity | 'missing' | 'unreadable';
  /** Objects of the cluster that carry an intent or a claim. */
  readonly objectsWithRentals: number;
  /**
   * Number of listed machines whose label names the installation with which an account of this cluster rented before.
   */
  readonly ownMachines: number;
  readonly kubeSystemUid: string | undefined;
  readonly scope: string;
}

/** Decision on an installation's identity. */
export type IdentityDecision =
  | { readonly type: 'create' }
  | {
      readonly type: 'use';
      readonly identity: Identity;
      /** Reason why the sweep must not destroy machines, if there is one. */
      readonly sweep: 'allowed' | 'clusterChanged' | 'scopeShrunk';
      /** Union of the watched scopes so far and now, if it exceeds the stored one. */
      readonly scopeToSave: string | undefined;
    }
  | { readonly type: 'lost'; readonly message: string };

const RECOVERY =
  `restore the Secret ${IDENTITY_SECRET} from a backup, or give the rentals up knowingly with ` +
  '`gpu-rent reset identity`: machines labelled before are then never touched again.';

/**
 * Decides whether to use, create or refuse an identity. A new identity beside old rentals of this cluster would make
 * every machine that still bills look like another customer's. The cluster records such rentals: intents and claims,
 * and accounts that name the former installation. A label alone proves nothing: other clusters may use the login, and
 * anyone with access to the console can write one.
 */
export function decideIdentity(facts: IdentityFacts): IdentityDecision {
  if (facts.stored === 'unreadable') {
    return {
      type: 'lost',
      message: `The Secret ${IDENTITY_SECRET} cannot be read as an identity: ${RECOVERY}`,
    };
  }
  if (facts.stored !== 'missing') return useStored(facts.stored, facts);
  if (facts.objectsWithRentals === 0 && facts.ownMachines === 0) return { type: 'create' };
  return {
    type: 'lost',
    message:
      `The Secret ${IDENTITY_SECRET} is missing although ${counted(facts.objectsWithRentals, 'object')} ${agreeing(facts.objectsWithRentals, 'carries', 'carry')} a rental and ` +
      `${counted(facts.ownMachines, 'machine')} ${agreeing(facts.ownMachines, 'carries', 'carry')} the label of this installation: ${RECOVERY}`,
  };
}

function useStored(identity: Identity, facts: IdentityFacts): IdentityDecision {
  const ever = scopeUnion(identity.scope, facts.scope);
  const moved =
    identity.kubeSystemUid !== undefined &&
    facts.kubeSystemUid !== undefined &&
    identity.kubeSystemUid !== facts.kubeSystemUid;
  const sweep = moved ? 'clusterChanged' : ever === facts.scope ? 'allowed' : 'scopeShrunk';
  return { type: 'use', identity, sweep, scopeToSave: ever === identity.scope ? undefined : ever };
}

/** Returns the watched namespaces in the form in which they are stored and compared. An empty list means all. */
export function scopeOf(namespaces: readonly string[]): string {
  return namespaces.length === 0 ? '*' : [...new Set(namespaces)].sort().join(',');
}

/** Returns the union of two watched scopes. A namespace is never removed from it: machines may still bill there. */
function scopeUnion(one: string, other: string): string {
  if (one === '*' || other === '*') return '*';
  return scopeOf(`${one},${other}`.split(',').map((name) => name.trim()));
}

/** Returns a new identity from 16 bytes for the id and 32 for its first key. */
export function newIdentity(
  bytes: { readonly id: Uint8Array; readonly key: Uint8Array },
  place: { readonly kubeSystemUid: string | undefined; readonly scope: string },
): Identity {
  const installId = hex(bytes.id);
  return {
    installId,
    installId8: installId.slice(0, 8),
    keys: [new Secret(hex(bytes.key))],
    kubeSystemUid: place.kubeSystemUid,
    scope: place.scope,
  };
}

/**
 * Returns the Secret's `stringData`: one line per key, the signing one first, so that a person can rotate by adding a
 * line.
 */
export function identityToData(identity: Identity): Record<string, string> {
  return {
    installId: identity.installId,
    keys: identity.keys.map((key) => key.reveal()).join('\n'),
    scope: identity.scope,
    ...(identity.kubeSystemUid === undefined ? {} : { kubeSystemUid: identity.kubeSystemUid }),
  };
}

/** Returns the identity in a Secret's decoded data; undefined if it has none. */
export function identityFromData(data: Readonly<Record<string, string>>): Identity | undefined {
  const { installId = '', keys = '', kubeSystemUid, scope } = data;
  const id = installId.trim();
  const ring = keyRingOf(keys.split(/\s+/).filter((line) => line !== ''));
  if (!/^[0-9a-f]{32}$/.test(id) || !ring) return undefined;
  return {
    installId: id,
    installId8: id.slice(0, 8),
    keys: ring,
    kubeSystemUid: kubeSystemUid?.trim() || undefined,
    scope: scope?.trim() || '*',
  };
}

function keyRingOf(lines: readonly string[]): KeyRing | undefined {
  const [first, ...rest] = lines;
  if (first === undefined || !lines.every((line) => /^[0-9a-f]{64}$/.test(line))) return undefined;
  return [new Secret(first), ...rest.map((line) => new Secret(line))];
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
