/**
 * Preloaded into the operator of `make demo-deadman`: it renews leases as often as machines need that count faster.
 * DEMO_SPEED is the number of seconds that they count in one.
 */
import { LeaseSchedules } from '../../src/controllers/gpu-instance/lease-renewal.ts';

const speed = Number(process.env['DEMO_SPEED'] ?? 1);
const real = LeaseSchedules.prototype.view;

LeaseSchedules.prototype.view = function (key, object) {
  const { status } = object;
  const { selfEnd } = status ?? {};
  if (selfEnd?.leaseSeconds === undefined) return real.call(this, key, object);
  const fast = { ...selfEnd, leaseSeconds: selfEnd.leaseSeconds / speed };
  return real.call(this, key, { ...object, status: { ...status, selfEnd: fast } });
};
