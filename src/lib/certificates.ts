import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Time,
  Validity,
  Version,
} from '@peculiar/asn1-x509';
import { Secret } from './secret.ts';

/** A certificate and its private key, both as PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: Secret;
}

interface Period {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly validMs: number;
}

export interface AuthorityRequest extends Period {
  /** The common name; two authorities that are trusted together need different ones. */
  readonly name: string;
}

export interface LeafRequest extends Period {
  /** DNS names and IP addresses of the holder; the first is also the common name if it is short enough. */
  readonly names: readonly string[];
  /** A peer refuses the certificate for the other use: a server cannot call another server with its own certificate. */
  readonly use: 'server' | 'client';
}

/** A certificate is valid this long before it was issued, for machines whose clock is late. */
export const CLOCK_SKEW_MS = 300_000;

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const COMMON_NAME = '2.5.4.3';
/** Maximum length of a common name (RFC 5280, ub-common-name). */
const MAX_COMMON_NAME = 64;
/** RFC 5280, 4.1.2.5: dates from 2050 on are written with four digits of the year. */
const GENERALIZED_TIME_FROM = Date.UTC(2050, 0, 1);

/** Returns a new authority with an ECDSA key on P-256, which signs leaves and no other authority. */
export function issueAuthority({ name, ...period }: AuthorityRequest): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = keyIdentifier(publicKey);
  return issued({
    ...{ period, publicKey, privateKey, signedBy: privateKey },
    subject: commonName(name),
    issuer: commonName(name),
    extensions: [
      extension(id_ce_basicConstraints, new BasicConstraints({ cA: true, pathLenConstraint: 0 }), true),
      extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign), true),
      extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(id)),
    ],
  });
}

/** Returns a certificate with a new key, signed by an authority. It expires no later than the authority. */
export function issueLeaf({ names, use, ...period }: LeafRequest, authority: KeyPair): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ca = new X509Certificate(authority.certificate);
  const { tbsCertificate } = AsnConvert.parse(ca.raw, Certificate);
  const [first = ''] = names;
  const authorityId = new KeyIdentifier(keyIdentifier(ca.publicKey));
  return issued({
    period: { now: period.now, validMs: Math.min(period.validMs, endOf(authority.certificate) - period.now) },
    ...{ publicKey, privateKey, signedBy: createPrivateKey(authority.key.reveal()) },
    subject: commonName(first.slice(0, MAX_COMMON_NAME)),
    issuer: tbsCertificate.subject,
    extensions: [
      extension(id_ce_basicConstraints, new BasicConstraints({ cA: false }), true),
      extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature), true),
      extension(
        id_ce_extKeyUsage,
        new ExtendedKeyUsage([use === 'server' ? id_kp_serverAuth : id_kp_clientAuth]),
      ),
      extension(id_ce_subjectAltName, new SubjectAlternativeName(names.map(generalName))),
      extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyIdentifier(publicKey))),
      extension(id_ce_authorityKeyIdentifier, new AuthorityKeyIdentifier({ keyIdentifier: authorityId })),
    ],
  });
}

const generalName = (name: string): GeneralName =>
  new GeneralName(isIP(name) === 0 ? { dNSName: name } : { iPAddress: name });

/**
 * Returns the start and end of a certificate's validity in milliseconds since the epoch. Throws if the text is no
 * certificate.
 */
export function periodOf(certificate: string): { readonly from: number; readonly until: number } {
  const { validFromDate, validToDate } = new X509Certificate(certificate);
  return { from: validFromDate.getTime(), until: validToDate.getTime() };
}

/** Returns true if the key belongs to the certificate. Throws if either text is invalid. */
export function isPair({ certificate, key }: KeyPair): boolean {
  return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key.reveal()));
}

/** Returns true if the authority signed the certificate. Throws if either text is no certificate. */
export function isSignedBy(certificate: string, authority: string): boolean {
  const ca = new X509Certificate(authority);
  const leaf = new X509Certificate(certificate);
  return leaf.checkIssued(ca) && leaf.verify(ca.publicKey);
}

const endOf = (certificate: string): number => periodOf(certificate).until;

interface Unsigned {
  readonly period: Period;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  readonly signedBy: KeyObject;
  readonly subject: Name;
  readonly issuer: Name;
  readonly extensions: readonly Extension[];
}

function issued({ period, publicKey, privateKey, signedBy, subject, issuer, extensions }: Unsigned): KeyPair {
  const signatureAlgorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: serialNumber(),
    signature: signatureAlgorithm,
    issuer,
    subject,
    validity: validityOf(period),
    subjectPublicKeyInfo: AsnConvert.parse(spkiOf(publicKey), SubjectPublicKeyInfo),
    extensions: new Extensions([...extensions]),
  });
  const signed = Buffer.from(AsnConvert.serialize(tbsCertificate));
  const signature = sign('sha256', signed, { key: signedBy, dsaEncoding: 'der' });
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm,
    signatureValue: arrayBufferOf(signature),
  });
  return {
    certificate: new X509Certificate(Buffer.from(AsnConvert.serialize(certificate))).toString(),
    key: new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
  };
}

/** Returns 16 random bytes as a positive number of full length (RFC 5280, 4.1.2.2: at most 20 bytes). */
function serialNumber(): ArrayBuffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return arrayBufferOf(bytes);
}

function validityOf({ now, validMs }: Period): Validity {
  const validity = new Validity();
  validity.notBefore = timeOf(now - CLOCK_SKEW_MS);
  validity.notAfter = timeOf(now + validMs);
  return validity;
}

function timeOf(epochMs: number): Time {
  const date = new Date(Math.floor(epochMs / 1000) * 1000);
  return new Time(epochMs < GENERALIZED_TIME_FROM ? { utcTime: date } : { generalTime: date });
}

function commonName(text: string): Name {
  const value = new AttributeValue({ utf8String: text });
  return new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value })])]);
}

function extension(extnID: string, value: unknown, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function spkiOf(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

/** Returns the first 160 bits of the key's hash (RFC 7093, method 1). */
function keyIdentifier(key: KeyObject): ArrayBuffer {
  return arrayBufferOf(createHash('sha256').update(spkiOf(key)).digest().subarray(0, 20));
}

function arrayBufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
