import { createHash } from 'node:crypto';
import type { GpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { trimmedOf } from '../../api/v1alpha1/trimmed-spec.ts';
import { canonicalJson } from './canonical-json.ts';

/** Raised when the set of fields below changes: a hash of another version says nothing about drift. */
const VERSION = 'v1';

/** An object as the cache holds it is never changed, and asked for at every pass. */
const hashes = new WeakMap<GpuInstanceSpec, string>();

/**
 * The hash of what a machine is rented with. Prices, order, bids, timeouts and policies are not in it, since
 * changing them makes no machine wrong; a changed Secret is not either, since it is used at the next rental. Of a trimmed
 * spec it is the hash that the whole one had.
 */
export function specHash(spec: GpuInstanceSpec): string {
  const known = trimmedOf(spec)?.hash ?? hashes.get(spec);
  if (known !== undefined) return known;
  const hash = hashOf(spec);
  hashes.set(spec, hash);
  return hash;
}

function hashOf(spec: GpuInstanceSpec): string {
  const machines = (spec.offers ?? []).map(
    ({ maxPricePerHour: _price, bid: _bid, order: _order, ...shape }) => ({
      ...shape,
      allowUnknownPrice: undefined,
    }),
  );
  const rented = {
    machines,
    image: spec.image,
    imagePullSecretRef: spec.imagePullSecretRef,
    disk: spec.disk,
    onStart: spec.onStart,
    onStartFrom: spec.onStartFrom,
    env: spec.env,
    ports: spec.ports,
    ssh: spec.ssh,
  };
  return `${VERSION}:${createHash('sha256').update(canonicalJson(rented)).digest('hex').slice(0, 16)}`;
}

/** Whether a machine was rented by another spec. A missing hash, or one of another version, is no drift. */
export function hasDrifted(recorded: string | undefined, spec: GpuInstanceSpec): boolean {
  if (!recorded?.startsWith(`${VERSION}:`)) return false;
  return recorded !== specHash(spec);
}
