import { type KeyRing, macVerifies, signMac } from './key-ring.ts';

/** Facts that a label states about its machine. */
export interface LabelFacts {
  /** Uid of the object that requested the machine. */
  readonly uid: string;
  /** Number of the purchase of that object. */
  readonly attempt: number;
  /** When the purchase was recorded, milliseconds since the epoch. */
  readonly issuedAt: number;
}

/** The part of an installation's identity that labels contain. */
export interface LabelIdentity {
  /** First eight characters of the install id. */
  readonly installId8: string;
  readonly keys: KeyRing;
}

/** Reading of a machine's label. Only `verified` ever proves anything. */
export type LabelReading =
  | { readonly type: 'none' }
  | { readonly type: 'verified'; readonly facts: LabelFacts; readonly retained: boolean }
  /**
   * The label has this installation's id, but no key of this installation made its code: it was edited, cut, or
   * forged.
   */
  | { readonly type: 'unverified'; readonly retained: boolean }
  | { readonly type: 'foreignInstall'; readonly installId8: string; readonly retained: boolean }
  | { readonly type: 'someoneElses' };

/** Every label of any installation of this operator starts so. */
export const LABEL_PREFIX = 'gpurental1:';
/** Prefix of the label of a machine that was kept when its object was deleted. */
export const RETAINED_PREFIX = 'gpurental1-retained:';

/** Characters of the install id that a label carries. */
const INSTALL_ID_LENGTH = 8;

const INSTALL_ID8 = /^[0-9a-f]{8}$/;
const BODY = /^([0-9a-f]{8}):([0-9a-f-]{1,64}):([0-9]{1,9}):([0-9]{1,15}):([0-9a-f]{1,64})$/;

function labelParts(installId8: string, facts: LabelFacts): readonly string[] {
  return [installId8, facts.uid, String(facts.attempt), String(facts.issuedAt)];
}

/**
 * Returns the label that a rent call carries: `gpurental1:<installId8>:<uid>:<attempt>:<issuedAt>:<mac>`. It is all
 * lower case, so a market that folds case does not break it.
 */
export function makeLabel(identity: LabelIdentity, facts: LabelFacts): string {
  const parts = labelParts(identity.installId8, facts);
  return `${LABEL_PREFIX}${parts.join(':')}:${signMac(identity.keys, 'label', parts)}`;
}

/**
 * Returns the label of a machine that outlives its object on purpose: the operator recognizes it and never destroys it.
 */
export function makeRetainedLabel(identity: LabelIdentity, facts: LabelFacts): string {
  const parts = labelParts(identity.installId8, facts);
  return `${RETAINED_PREFIX}${parts.join(':')}:${signMac(identity.keys, 'retained', parts)}`;
}

/** Returns true if any installation of this operator made the label, this one or another. */
export function hasOperatorPrefix(label: string | null | undefined): boolean {
  return label?.startsWith(LABEL_PREFIX) === true || label?.startsWith(RETAINED_PREFIX) === true;
}

/**
 * Returns the first eight characters of the id of the installation that rented a machine; undefined for any other
 * label, and for a machine that was kept on purpose. It is no proof: anyone can write a label.
 */
export function installationNamedBy(label: string | null | undefined): string | undefined {
  if (!label?.startsWith(LABEL_PREFIX)) return undefined;
  const named = label.slice(LABEL_PREFIX.length).split(':', 1)[0] ?? '';
  return INSTALL_ID8.test(named) ? named : undefined;
}

/** Remainder of a label that a service returns incompletely. */
export type Remnant =
  /** The text still names this installation, so no machine of another customer is mistaken for one of this operator. */
  | 'recognizable'
  /** The remaining text does not distinguish it from a label of another installation. */
  | 'doubtful'
  | 'none';

/**
 * Returns the remainder of a sent label in a shown one, if the market cuts it, folds its case or drops its colons. The
 * whole label is no remnant: {@link readLabel} reads it.
 */
export function remnantOf(sent: string, shown: string): Remnant {
  const left = plain(shown);
  if (shown === sent || left === '' || !plain(sent).startsWith(left)) return 'none';
  return left.length >= plain(LABEL_PREFIX).length + INSTALL_ID_LENGTH ? 'recognizable' : 'doubtful';
}

const plain = (label: string): string => label.toLowerCase().replaceAll(/[^0-9a-z]/g, '');

/**
 * Reads a machine's label. The result distinguishes foreign text, an empty label and a label of another installation.
 */
export function readLabel(identity: LabelIdentity, label: string | null | undefined): LabelReading {
  if (label === null || label === undefined || label === '') return { type: 'none' };
  if (!hasOperatorPrefix(label)) return { type: 'someoneElses' };
  const retained = label.startsWith(RETAINED_PREFIX);
  const body = label.slice(retained ? RETAINED_PREFIX.length : LABEL_PREFIX.length);
  const installId8 = body.slice(0, INSTALL_ID_LENGTH);
  if (installId8 !== identity.installId8) return { type: 'foreignInstall', installId8, retained };
  const facts = verifiedFacts(identity, body, retained);
  return facts ? { type: 'verified', facts, retained } : { type: 'unverified', retained };
}

function verifiedFacts(identity: LabelIdentity, body: string, retained: boolean): LabelFacts | undefined {
  const match = BODY.exec(body);
  if (!match) return undefined;
  const [, installId8 = '', uid = '', attempt = '', issuedAt = '', mac = ''] = match;
  const parts = [installId8, uid, attempt, issuedAt];
  if (!macVerifies(identity.keys, retained ? 'retained' : 'label', { parts, mac })) return undefined;
  return { uid, attempt: Number(attempt), issuedAt: Number(issuedAt) };
}
