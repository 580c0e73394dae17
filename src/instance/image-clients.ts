import type { Fuses } from '../market/self-end.ts';
import { imageName } from './launch.ts';
import { endsText } from './machine-fuses.ts';

/** Programs with which a fuse can call its marketplace, for use in a sentence. */
export const FUSE_CLIENTS = 'curl, python3 or openssl';

/**
 * Clients of published images, in the order in which a fuse tries them. Each row is of 2026-11; a tag may differ. A hint:
 * `status.machine.selfEnd` is the proof.
 *
 * - vllm: the build file installs curl and python3 (vllm-project/vllm:docker/Dockerfile, stage vllm-base).
 * - pytorch: the build file copies a conda with python3, and installs ca-certificates, which depends on openssl
 *   (pytorch/pytorch:Dockerfile, stage official).
 * - python: by its documentation; every variant has python3.
 * - debian: the smallest set of packages of releases 12 and 13, by debootstrap, has none of them.
 * - ubuntu, alpine: by their documentation. The base packages of alpine have a TLS library and no program beside it.
 * - busybox: one program, whose wget knows neither PUT nor DELETE, and which has no openssl.
 */
const IMAGES: readonly { readonly image: RegExp; readonly clients: readonly string[] }[] = [
  { image: /^vllm\/vllm-openai$/, clients: ['curl', 'python3'] },
  { image: /^pytorch\/pytorch$/, clients: ['python3', 'openssl'] },
  { image: /^(library\/)?python$/, clients: ['python3'] },
  { image: /^(library\/)?(ubuntu|debian|alpine|busybox)$/, clients: [] },
];

/** Clients of the fuse in an image. */
export interface ImageClients {
  readonly name: string;
  /** In the order in which the fuse tries them. */
  readonly clients: readonly string[];
}

/** Returns the clients in a published image; undefined if this version does not know the image. */
export function imageClients(image: string | undefined): ImageClients | undefined {
  const name = imageName(image ?? '');
  const known = IMAGES.find((entry) => entry.image.test(name));
  return known && { name, clients: known.clients };
}

/** Fuses of a machine in a plan. */
interface PlannedFuse {
  readonly fuses: Fuses;
  /** Set if the machine requests the renewals of its lease. */
  readonly isReporting?: true;
}

/** Returns sentences on how a machine of that image ends itself. */
export function selfEndHint(image: string | undefined, { fuses, isReporting }: PlannedFuse): string {
  const known = imageClients(image);
  const after = `Self-end: the machine destroys itself after ${endsText(fuses)}`;
  const flag = isReporting ? ' It requests renewals from the operator, which needs --worker-report-url.' : '';
  if (!known) return `${after}, if the image has ${FUSE_CLIENTS}.${flag}`;
  const { name, clients } = known;
  const [client] = clients;
  return client === undefined
    ? `Self-end: ${name} has neither curl, python3 nor openssl, so only the operator ends its machines. Install curl in the image.`
    : `${after}, by ${client} of ${name}.${flag}`;
}
